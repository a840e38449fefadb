import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { Oracle } from '../../support/oracle.ts'
import { readOracle } from '../../support/stored-platform.ts'
import { until } from '../../support/until.ts'
import { type Access, type AccessChange, Client, refusal } from './clients.ts'
import { type Asked, queryString, rightPage, rightRecord } from './questions.ts'
import { type Answer, ask, useTwoServers } from './servers.ts'
import { PRODUCTS, reset } from './world.ts'

/**
 * The page is read for the remembered caller, and the same statement says whether the caller is still the one:
 * whatever changed about a caller, the very next request on every server must show it, and nothing of that page.
 */

const ASKED: Asked = { sort: 'user_name', order: 'ASC', filter: 0, size: 60 }
const LIST = (offset: number) => `?${queryString(ASKED, offset)}`
const ERROR_500: Answer = { status: 500, body: '{"errors":[{"message":"Internal server error"}]}' }

const two = useTwoServers()
let oracle: Oracle
let client: Client
const unhandled: unknown[] = []
const noteUnhandled = (error: unknown) => unhandled.push(error)

beforeAll(async () => {
  process.on('unhandledRejection', noteUnhandled)
  await reset(two.db, 200)
  oracle = await readOracle(two.db)
})
afterAll(() => void process.off('unhandledRejection', noteUnhandled))

/** Both servers remember the caller, its count and two places in the order. */
beforeEach(async () => {
  client = await Client.create(two.db, two.urls, { organizations: [1, 2, 3], products: PRODUCTS })
  for (const url of two.urls) for (const offset of [0, 60]) await expectRight(url, offset)
})

/** What the rules say to a request for a page. */
function right(access: Access, offset: number): Answer {
  return refusal(access) ?? { status: 200, body: rightPage(oracle, access, ASKED, offset) }
}

async function expectRight(url: string, offset: number): Promise<void> {
  const { text, access } = client.token(0)
  expect(await ask(url, text, LIST(offset))).toEqual(right(access, offset))
}

const change = (kind: AccessChange['kind'], a = 0, b = 0): AccessChange => ({ kind, a, b })

/** Names of changes, the changes, and the answer's status after the last of them. */
const CHANGES: [string, AccessChange[], number][] = [
  ['a revoked token', [change('revoke')], 401],
  ['an expired token', [change('expire')], 401],
  ['a secret rotated without grace', [change('rotate')], 401],
  ['a secret rotated with grace', [change('grace')], 200],
  ['the end of a grace', [change('grace'), change('endGrace')], 401],
  ['a second rotation during a grace', [change('grace'), change('grace')], 401],
  ['a disabled integration', [change('disable')], 401],
  ['an integration disabled and enabled again', [change('disable'), change('enable')], 200],
  ['a wider scope', [change('scope', 0, 0)], 200],
  ['a scope of many organizations', [change('scope', 6, 0)], 200],
  ['a narrower scope', [change('scope', 4, 0)], 200],
  ['another scope', [change('scope', 5, 3)], 200],
  ['fewer products', [change('scope', 0, 4)], 200],
  ['a scope without organizations', [change('scope', 7, 0)], 400],
  ['a scope without products', [change('scope', 0, 7)], 400],
  ['a scope that is emptied and restored', [change('scope', 7, 7), change('scope', 2, 2)], 200],
]

describe.each(CHANGES)('%s', (_, changes, status) => {
  test('is honoured by the very next request on both servers, after each step', async () => {
    for (const next of changes) {
      await client.change(next)
      await Promise.all(two.urls.map(url => expectRight(url, 60)))
      await Promise.all(two.urls.map(url => expectRight(url, 0)))
    }
    expect(right(client.token(0).access, 60).status).toBe(status)
  })

  test('is honoured by many requests at once', async () => {
    for (const next of changes) await client.change(next)
    const urls = [...two.urls, ...two.urls, ...two.urls, ...two.urls]
    await Promise.all(urls.map((url, at) => expectRight(url, 30 * at)))
  })
})

const DEAD = { isLive: false, organizations: [1, 2, 3], products: PRODUCTS }
const live = (...organizations: number[]): Access => ({ isLive: true, organizations, products: PRODUCTS })
const SCOPE = 'update integrations set organization_ids ='

/** What the rules say after these statements of an operator, in SQL because a lock is held meanwhile. */
const MEANWHILE: [string, string, Access][] = [
  ['is revoked', 'delete from access_tokens', DEAD],
  ['expires', 'update access_tokens set expires_at = now()', DEAD],
  ['loses its secret', 'delete from integration_secrets', DEAD],
  ['outlives the grace of its secret', 'update integration_secrets set expires_at = now()', DEAD],
  ['is disabled', 'update integrations set disabled_at = now()', DEAD],
  ['is deleted with its integration', 'delete from integrations', DEAD],
  ['gets another scope', `${SCOPE} '{4,6}'`, live(4, 6)],
  ['gets a narrower scope', `${SCOPE} '{2}'`, live(2)],
  ['gets an empty scope', `${SCOPE} '{}'`, live()],
]

// A statement takes its snapshot when it has got its locks, so that it sees what was done while it waited.
describe.each(MEANWHILE)(
  'a token that %s while its answer waits for the database',
  (_, statement, access) => {
    /** What both servers answer to a request before which the statement is run. */
    async function answers(rest: string): Promise<Answer[]> {
      const held = await holdLock('export_records')
      const { text } = client.token(0)
      const asked = two.urls.map(url => ask(url, text, rest))
      await held.untilWaiting(2)
      await held.run(statement)
      await held.release()
      return await Promise.all(asked)
    }

    test('gets no page that it had a right to before', async () => {
      const expected = right(access, 60)
      expect(await answers(LIST(60))).toEqual([expected, expected])
    })

    test('gets no single record either', async () => {
      const [record] = await two.db<{ id: number }[]>`
      select id::integer from assessments where organization_id = 3 order by id limit 1`
      const id = record?.id ?? 0
      const expected = refusal(access) ?? rightRecord(oracle, access, id)
      expect(await answers(`/${id}`)).toEqual([expected, expected])
    })
  },
)

describe('parameters that can not be read', () => {
  const UNREADABLE = '?page=none'

  test.each([
    ['are an error for a live token', [], 400, 'page must be'],
    ['are no error for a revoked token', [change('revoke')], 401, 'invalid_token'],
    ['are no error for a disabled integration', [change('disable')], 401, 'invalid_token'],
    ['are no error before there is a scope', [change('scope', 7, 0)], 400, 'Invalid or missing tenant ids'],
    ['are an error under a changed scope', [change('scope', 4, 0)], 400, 'page must be'],
  ])('%s', async (_, changes, status, text) => {
    for (const next of changes) await client.change(next)
    for (const url of two.urls) {
      for (const { status: given, body } of [
        await ask(url, client.token(0).text, UNREADABLE),
        await ask(url, client.token(0).text, UNREADABLE),
      ]) {
        expect(given).toBe(status)
        expect(body).toContain(text)
      }
    }
  })
})

describe('an error of the database', () => {
  const PAGE = 'export_records'
  const CALLER = 'live_tokens'

  /** Without these tables, on one server: the answer, and how many errors it has logged for it. */
  async function without(tables: string[], meanwhile?: () => Promise<void>) {
    const [url] = two.urls
    const { text } = client.token(0)
    const before = two.logged().length
    await meanwhile?.()
    const rename = (from: string, to: string) => two.db.unsafe(`alter table ${from} rename to ${to}`)
    for (const table of tables) await rename(table, `${table}_gone`)
    const answer = await ask(url, text, LIST(60))
    for (const table of tables) await rename(`${table}_gone`, table)
    await expectRight(url, 60)
    await expectRight(two.urls[1], 60)
    const errors = two
      .logged()
      .slice(before)
      .filter(line => line.msg === 'unforeseen error')
    return { answer, errors: errors.length }
  }

  test('while the page is read is one 500, logged once', async () => {
    expect(await without([PAGE])).toEqual({ answer: ERROR_500, errors: 1 })
  })

  test('while the caller is verified is one 500, logged once', async () => {
    expect(await without([CALLER])).toEqual({ answer: ERROR_500, errors: 1 })
  })

  test('in both questions is one 500, logged once', async () => {
    expect(await without([PAGE, CALLER])).toEqual({ answer: ERROR_500, errors: 1 })
  })

  test('while the page is read tells nothing of the token: it is one 500, logged once', async () => {
    const { answer, errors } = await without([PAGE], () => client.change(change('revoke')))
    expect({ status: answer.status, errors }).toEqual({ status: 500, errors: 1 })
  })

  test('while the page is read for a changed scope is one 500, logged once', async () => {
    const changed = await without([PAGE], () => client.change(change('scope', 4, 0)))
    expect(changed).toEqual({ answer: ERROR_500, errors: 1 })
  })

  afterAll(() => {
    // Every test above has made further requests since; a rejection that nobody handles is known by now.
    expect(unhandled).toEqual([])
  })
})

interface HeldLock {
  untilWaiting(requests: number): Promise<unknown>
  /** Runs a statement in the transaction that holds the lock. */
  run(statement: string): Promise<void>
  release(): Promise<void>
}

/** Keeps everybody out of a table until it is released. */
async function holdLock(table: string): Promise<HeldLock> {
  const connection = await two.db.reserve()
  await connection.unsafe(`begin; lock table ${table} in access exclusive mode`)
  return {
    untilWaiting: requests =>
      until(`${requests} statements wait for ${table}`, async () => {
        const waiting = await two.db`
          select from pg_locks
          where not granted and database = (select oid from pg_database where datname = current_database())
            and relation = ${table}::regclass`
        return waiting.length >= requests
      }),
    run: async statement => {
      await connection.unsafe(statement)
    },
    release: async () => {
      await connection.unsafe('commit')
      connection.release()
    },
  }
}
