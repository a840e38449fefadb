import { beforeEach, describe, expect, test } from 'bun:test'
import { requireAccess } from '../../../src/assessments/access.ts'
import { List } from '../../../src/assessments/list.ts'
import { readPage } from '../../../src/assessments/page.ts'
import { listKey, PageMemory } from '../../../src/assessments/page-memory.ts'
import type { RequestBounds } from '../../../src/database/bounds.ts'
import type { Runner } from '../../../src/database/statement.ts'
import { listQuery } from '../../support/list-query.ts'
import { useDatabase } from './database.ts'
import { useWay, WALKED } from './limits.ts'
import { issueTokens, tokenOf } from './questions.ts'
import { kindsOf } from './statements.ts'
import { PRODUCTS, reset } from './world.ts'

/** How a page is read from what is remembered. Other files beside this one check that the answers are right. */

const db = useDatabase()
let memory: PageMemory
const SCOPE = { organizations: [1, 2, 3], products: PRODUCTS }
const OTHERS = [
  { organizations: [1, 2, 3, 4], products: PRODUCTS },
  { organizations: [1, 2, 3], products: [1] },
]

useWay(WALKED)

beforeEach(async () => {
  await reset(db.sql, 300)
  await issueTokens(db.sql, SCOPE, ...OTHERS)
  memory = new PageMemory()
})

const page = (query: string, offset: number, of = SCOPE, runner: Runner = db.pool) =>
  readPage(
    { db: runner, memory, tokenDigest: tokenOf(of), bounds: {} },
    listQuery(`page=50&offset=${offset}&${query}`),
  )

/** The kinds of statements that a page of 50 sends; see kindsOf. */
async function statementsFor(query: string, offset: number, of = SCOPE): Promise<string[]> {
  db.sent = []
  await page(query, offset, of)
  return kindsOf(db.sent)
}

/** Changes the order of records, but not which records exist. */
const change = (organization: number) =>
  db.sql`
    update assessments set certified_at = certified_at + interval '1 day'
    where organization_id = ${organization} and id < 150`

const KEPT = 'kept'

/** Requests one after the other, and the kinds of the statements of each. */
const WALKS: Record<string, [query: string, offset: number, kinds: string | string[]][]> = {
  'the first page is counted, and the next pages are read from cursors': [
    ['', 0, KEPT],
    ['', 50, 'cursor'],
    ['', 0, 'start'],
    ['', 50, 'cursor'],
  ],
  'a count serves all orders, and a cursor one order': [
    ['sort=user_name', 0, KEPT],
    ['sort=user_name&order=DESC', 40, 'start'],
    ['sort=proctor_name', 40, 'start'],
    ['sort=user_name', 50, 'cursor'],
  ],
  'each filter has its own count': [
    ['', 0, KEPT],
    ['filter[legacy_record]=false', 20, 'counted'],
    ['filter[organization_ids][]=1', 20, KEPT],
    ['filter[organization_ids][]=1', 0, 'start'],
  ],
  // The scope has 150 records.
  'a page that is read again is read from the cursor before it': [
    ['', 0, KEPT],
    ['sort=user_name', 75, 'start'],
    ['sort=user_name', 75, 'start'],
    ['sort=user_name', 125, 'cursor'],
    ['sort=user_name', 130, 'cursor'],
  ],
}

test.each(Object.entries(WALKS))('%s', async (_, walk) => {
  for (const [query, offset, kinds] of walk)
    expect(await statementsFor(query, offset)).toEqual([kinds].flat())
})

const RECOUNTED = ['cursor', 'kept']

test('a page after a change of any list is read again from a new count', async () => {
  await statementsFor('', 0)
  for (const organization of [5, 2]) {
    await change(organization)
    expect(await statementsFor('', 50)).toEqual(RECOUNTED)
    await statementsFor('', 0)
  }
  await db.sql`update users set email = 'new@example.org'`
  expect(await statementsFor('', 50)).toEqual(['cursor'])
})

test('a list of a restored database is forgotten', async () => {
  await statementsFor('', 0)
  await db.sql`update export_version set version = gen_random_uuid()`
  expect(await statementsFor('', 50)).toEqual(RECOUNTED)
})

test('a page of a remembered list returns its ids as soon as disclosures are recorded', async () => {
  await statementsFor('', 0)
  try {
    await db.sql`update disclosure_state set is_on = true`
    db.sent = []
    expect((await page('', 50)).shown).toMatchObject({
      assessments: expect.any(String),
      people: expect.any(String),
    })
    expect(kindsOf(db.sent)).toEqual(['cursor'])
  } finally {
    await db.sql`update disclosure_state set is_on = false`
  }
  expect((await page('', 50)).shown).toBeUndefined()
})

test('two scopes have separate counts, even equal ones', async () => {
  const filters = ['', 'filter[legacy_record]=false']
  for (const filter of filters) await statementsFor(filter, 0)
  for (const other of OTHERS) {
    for (const filter of filters) {
      expect(await statementsFor(filter, 0, other)).toEqual([filter ? 'counted' : KEPT])
      expect(await statementsFor(filter, 0, other)).toEqual(['start'])
    }
  }
})

describe('when a list changes before each of its pages', () => {
  test('the page is counted by its own statement after two remembered lists', async () => {
    const outdated = new List('00000000-0000-4000-8000-000000000000', 150, false)
    // Whenever the request forgets a list, another one has counted it, and it is outdated again.
    memory = new (class extends PageMemory {
      override note(key: string, list: List | undefined) {
        super.note(key, list ?? outdated)
      }
    })()
    const { access } = await requireAccess(db.pool, tokenOf(SCOPE))
    memory.note(listKey(access.scopeDigest, {}), outdated)
    db.sent = []
    expect((await page('', 0)).count).toBe(150)
    expect(kindsOf(db.sent)).toEqual(['start', 'start', 'kept'])
    expect(await statementsFor('', 0)).toEqual(['start'])
  })

  test('a page that is counted by its own statement returns its ids if disclosures are recorded at that moment', async () => {
    const switching: Runner = {
      unsafe: async (text, ...rest) => {
        const [kind] = kindsOf([text])
        if (kind === 'kept') await db.sql`update disclosure_state set is_on = not is_on`
        return await db.pool.unsafe(text, ...rest)
      },
    }
    const { shown } = await page('', 0, SCOPE, switching)
    expect(shown).toMatchObject({ assessments: expect.any(String), people: expect.any(String) })
    memory = new PageMemory()
    expect((await page('', 0, SCOPE, switching)).shown).toBeUndefined()
  })

  test('a page that is counted by its own statement is a 503 if the switch of disclosures has gone', async () => {
    const deleting: Runner = {
      unsafe: async (text, ...rest) => {
        const [kind] = kindsOf([text])
        if (kind === 'kept') await db.sql`delete from disclosure_state`
        return await db.pool.unsafe(text, ...rest)
      },
    }
    try {
      await expect(page('', 0, SCOPE, deleting)).rejects.toMatchObject({ httpStatus: 503 })
    } finally {
      await db.sql`insert into disclosure_state default values`
    }
  })
})

describe('of requests for a list that nobody has counted,', () => {
  /** Holds each count until it is released. */
  function holding() {
    const held: { release(): void; fail(error: Error): void }[] = []
    const runner: Runner = {
      unsafe: async (text, ...rest) => {
        if (kindsOf([text])[0] === 'kept') {
          const { promise, resolve, reject } = Promise.withResolvers<void>()
          held.push({ release: resolve, fail: reject })
          await promise
        }
        return await db.pool.unsafe(text, ...rest)
      },
    }
    return { held, runner }
  }
  const some = (number: number, runner: Runner) =>
    Array.from({ length: number }, (_, at) => page('', 10 * at, SCOPE, runner).then(({ count }) => count))
  const ready = async (held: unknown[], count: number) => {
    while (held.length < count) await Bun.sleep(1)
  }

  test('one counts, and the others wait for it', async () => {
    await page('filter[user_ids][]=1', 0)
    const { held, runner } = holding()
    db.sent = []
    const pages = some(5, runner)
    await ready(held, 1)
    held[0]?.release()
    expect(await Promise.all(pages)).toEqual([150, 150, 150, 150, 150])
    expect(kindsOf(db.sent).filter(kind => kind === 'kept')).toHaveLength(1)
  })

  test('the next one counts after a count that fails, and none but the first fails', async () => {
    await page('filter[user_ids][]=1', 0)
    const { held, runner } = holding()
    const pages = some(4, runner)
    const outcomes = Promise.allSettled(pages)
    await ready(held, 1)
    held[0]?.fail(new Error('cut'))
    await ready(held, 2)
    held[1]?.release()
    expect((await outcomes).map(({ status }) => status)).toEqual([
      'rejected',
      ...Array.from({ length: 3 }, () => 'fulfilled' as const),
    ])
  })

  test('one whose client has gone or whose time is over leaves, and the others get their page', async () => {
    await page('filter[user_ids][]=1', 0)
    const { held, runner } = holding()
    const [first] = some(1, runner)
    await ready(held, 1)
    const waiting = (bounds: RequestBounds) =>
      readPage({ db: runner, memory, tokenDigest: tokenOf(SCOPE), bounds }, listQuery('')).then(
        () => 'page',
        error => error.constructor.name,
      )
    const client = new AbortController()
    const gone = waiting({ signal: client.signal })
    const late = waiting({ deadline: performance.now() + 5 })
    const patient = waiting({ deadline: performance.now() + 60_000 })
    client.abort()
    expect([await gone, await late]).toEqual(['ClientGone', 'StatementTimeout'])
    held[0]?.release()
    expect([await first, await patient]).toEqual([150, 'page'])
  })
})
