import type { ListQuery } from '../contract.ts'
import type { RequestBounds } from '../database/bounds.ts'
import type { Runner } from '../database/statement.ts'
import { type Access, accessOf, requireAccess } from './access.ts'
import { constraints } from './filters.ts'
import type { List } from './list.ts'
import { listKey, type PageMemory } from './page-memory.ts'
import {
  countedPage,
  countList,
  type Page,
  type PageRequest,
  type Reader,
  rememberedPage,
} from './read-list.ts'
import { narrowed, type Sets } from './scope.ts'

/** After so many lists that were not those of their page, the records are counted in the statement of the page. */
const MAX_LISTS = 3

/**
 * Reads a page of a query in the scope of a token. Throws HttpError 401 or 400.
 *
 * A page is one statement. It begins at what is remembered of its list, and returns no records if that is of another scope or
 * version. Then the list is forgotten and counted, and the page is read again.
 */
export async function readPageBy(
  reader: Reader,
  query: ListQuery,
  bounds: RequestBounds = {},
): Promise<Page> {
  const { memory } = reader
  const { filters, values } = constraints(query.filter)
  let isExact = false
  let last: List | undefined
  for (let attempt = 1; ; attempt++) {
    const { access, sets } = await reader.scope()
    const given = {
      ...values,
      ...narrowed(sets, query.filter),
      ...reader.values,
      scopeDigest: access.scopeDigest,
    }
    const request: PageRequest = { reader, query, filters, access, given, isExact }
    if (last && attempt > MAX_LISTS) {
      const page = await countedPage(request, last)
      if (typeof page === 'object') return page
      isExact ||= page === 'contradicted'
      continue
    }
    const key = listKey(access.scopeDigest, query.filter)
    const list = await memory.listOf(key, () => countList(request), bounds)
    if (!list) continue
    const page = await rememberedPage(request, list)
    if (typeof page === 'object') {
      memory.noteGrowth(key, list)
      return page
    }
    memory.forget(key, list)
    isExact ||= page === 'contradicted'
    last = list
  }
}

/** The same with a token, which every statement looks up. */
export function readPage(
  db: Runner,
  memory: PageMemory,
  token: string,
  query: ListQuery,
  bounds?: RequestBounds,
): Promise<Page> {
  const scope = () => scopeOf(db, memory, token)
  const hasScope: Reader['hasScope'] = (row, access) => {
    const now = accessOf(row)
    memory.noteAccess(token, now)
    return now.scopeDigest === access.scopeDigest
  }
  return readPageBy({ db, memory, source: 'token', values: { token }, scope, hasScope }, query, bounds)
}

/** The scope of a token, as a statement last read it. */
async function scopeOf(
  db: Runner,
  memory: PageMemory,
  token: string,
): Promise<{ access: Access; sets: Sets }> {
  const access = memory.accessOf(token)
  const sets = access && memory.setsOf(access.scopeDigest)
  if (sets) return { access, sets }
  const read = await requireAccess(db, token)
  memory.noteAccess(token, read.access)
  memory.noteSets(read.access.scopeDigest, read.sets)
  return read
}
