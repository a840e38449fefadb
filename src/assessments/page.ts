import type { ListQuery } from '../contract.ts'
import type { Runner } from '../database/statement.ts'
import { type Access, requireAccess } from './access.ts'
import { constraints } from './filters.ts'
import type { List } from './list.ts'
import { listKey, type PageMemory, type Patience } from './page-memory.ts'
import { countedPage, countList, type Page, type PageRequest, rememberedPage } from './read-list.ts'
import { narrowed, type Sets } from './scope.ts'

/** After so many lists that were not those of their page, the records are counted in the statement of the page. */
const MAX_LISTS = 3

/**
 * Reads a page of a query in the scope of a token. Throws HttpError 401 or 400.
 *
 * A page is one statement. It begins at what is remembered of its list, and returns no records if that is of another scope or
 * version. Then the list is forgotten and counted, and the page is read again.
 */
export async function readPage(
  db: Runner,
  memory: PageMemory,
  token: Uint8Array,
  query: ListQuery,
  patience: Patience = {},
): Promise<Page> {
  const { filters, values } = constraints(query.filter)
  let isExact = false
  let last: List | undefined
  for (let attempt = 1; ; attempt++) {
    const { access, sets } = await scopeOf(db, memory, token)
    const given = { ...values, ...narrowed(sets, query.filter), token, scope: access.scope }
    const request: PageRequest = { db, memory, token, query, filters, access, given, isExact }
    if (last && attempt > MAX_LISTS) {
      const page = await countedPage(request, last)
      if (typeof page === 'object') return page
      isExact ||= page === 'contradicted'
      continue
    }
    const key = listKey(access.scope, query.filter)
    const list = await memory.listOf(key, () => countList(request), patience)
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

/** The scope of a token, as a statement last read it. */
async function scopeOf(
  db: Runner,
  memory: PageMemory,
  token: Uint8Array,
): Promise<{ access: Access; sets: Sets }> {
  const access = memory.accessOf(token)
  const sets = access && memory.setsOf(access.scope)
  if (sets) return { access, sets }
  const read = await requireAccess(db, token)
  memory.noteAccess(token, read.access)
  memory.noteSets(read.access.scope, read.sets)
  return read
}
