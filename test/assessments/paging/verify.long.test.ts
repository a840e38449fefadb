import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { Oracle } from '../../support/oracle.ts'
import { whileBlocked } from '../../support/served.ts'
import { readOracle } from '../../support/stored-platform.ts'
import { type Access, type AccessChange, Client, refusal } from './clients.ts'
import { type ListParameters, queryString, rightPage, rightRecord } from './questions.ts'
import { type Answer, ask, useTwoServers } from './servers.ts'
import { PRODUCTS, reset } from './world.ts'

/**
 * A page is read with the remembered access, and the same statement verifies that access. After any change of
 * an integration, the next request on every service must show the change, and no record that the change took
 * away.
 */

const PARAMETERS: ListParameters = { sort: 'user_name', order: 'ASC', filter: 0, size: 60 }
const LIST = (offset: number) => `?${queryString(PARAMETERS, offset)}`
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

/** Fills the memory of both services with the access, the count and two cursors. */
beforeEach(async () => {
  client = await Client.create(two.db, two.urls, { organizations: [1, 2, 3], products: PRODUCTS })
  for (const url of two.urls) for (const offset of [0, 60]) await expectRight(url, offset)
})

/** The expected answer to a request for a page with this access. */
function right(access: Access, offset: number): Answer {
  return refusal(access) ?? { status: 200, body: rightPage(oracle, access, PARAMETERS, offset) }
}

async function expectRight(url: string, offset: number): Promise<void> {
  const { text, access } = client.token(0)
  expect(await ask(url, text, LIST(offset))).toEqual(right(access, offset))
}

const change = (kind: AccessChange['kind'], a = 0, b = 0): AccessChange => ({ kind, a, b })

/** The name of a change, the changes, and the status after the last of them. */
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

test.each(CHANGES)('%s applies to the very next request on both services', async (_, changes, status) => {
  for (const next of changes) {
    await client.change(next)
    // The last page would contradict a count of another scope. The first one would show it.
    await Promise.all(two.urls.map(url => expectRight(url, 0)))
    await Promise.all(two.urls.map(url => expectRight(url, 60)))
  }
  expect(right(client.token(0).access, 60).status).toBe(status)
})

const DEAD = { isLive: false, organizations: [1, 2, 3], products: PRODUCTS }
const live = (...organizations: number[]): Access => ({ isLive: true, organizations, products: PRODUCTS })
/** A time before the request began: the statement compares with the time of its start. */
const OVER = `expires_at = now() - interval '1 minute'`
const SCOPE = 'update integrations set organization_ids ='

/** A change by an operator during a request, and the access after it. */
const MEANWHILE: [string, string, Access][] = [
  ['is revoked', 'delete from access_tokens', DEAD],
  ['expires', `update access_tokens set ${OVER}`, DEAD],
  ['loses its secret', 'delete from integration_secrets', DEAD],
  ['outlives the grace of its secret', `update integration_secrets set ${OVER}`, DEAD],
  ['is disabled', 'update integrations set disabled_at = now()', DEAD],
  ['is deleted with its integration', 'delete from integrations', DEAD],
  ['gets another scope', `${SCOPE} '{4,6}'`, live(4, 6)],
  ['gets a narrower scope', `${SCOPE} '{2}'`, live(2)],
  ['gets an empty scope', `${SCOPE} '{}'`, live()],
]

// A statement takes its snapshot after it has acquired its locks, so it sees changes made while it waited.
test.each(MEANWHILE)(
  'a token that %s while its request waits for a lock gets the answer for its new access',
  async (_, statement, access) => {
    const [record] = await two.db<{ id: number }[]>`
      select id::integer from assessments where organization_id = 3 order by id limit 1`
    const id = record?.id ?? 0
    const { text } = client.token(0)
    let answers: Promise<Answer>[] = []
    await whileBlocked(two.db, async waiting => {
      answers = two.urls.flatMap(url => [ask(url, text, LIST(60)), ask(url, text, `/${id}`)])
      await waiting(4)
      await two.db.unsafe(statement)
    })
    const expected = [right(access, 60), refusal(access) ?? rightRecord(oracle, access, id)]
    expect(await Promise.all(answers)).toEqual([...expected, ...expected])
  },
)

describe('an error of the database', () => {
  test.each<[string, string[], AccessChange[]]>([
    ['while the page is read', ['export_records'], []],
    ['while the token is verified', ['live_tokens'], []],
    ['while both are read', ['export_records', 'live_tokens'], []],
    ['while the page is read for an ended token', ['export_records'], [change('revoke')]],
    ['while the page is read for a changed scope', ['export_records'], [change('scope', 4, 0)]],
  ])('%s gives one 500, and is logged once', async (_, tables, changes) => {
    const before = two.logged().length
    for (const next of changes) await client.change(next)
    const rename = (from: string, to: string) => two.db.unsafe(`alter table ${from} rename to ${to}`)
    for (const table of tables) await rename(table, `${table}_gone`)
    const answer = await ask(two.urls[0], client.token(0).text, LIST(60))
    for (const table of tables) await rename(`${table}_gone`, table)
    for (const url of two.urls) await expectRight(url, 60)
    const errors = two.logged().slice(before)
    expect(answer).toEqual(ERROR_500)
    expect(errors.filter(line => line.msg === 'unforeseen error')).toHaveLength(1)
  })

  afterAll(() => {
    // All tests above have sent further requests, so an unhandled rejection would have been recorded by now.
    expect(unhandled).toEqual([])
  })
})
