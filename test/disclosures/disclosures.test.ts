import { beforeAll, describe, expect, test } from 'bun:test'
import type { Sql } from 'postgres'
import { type Disclosure, eachDisclosure } from '../../src/disclosures/each.ts'
import type { Question } from '../../src/disclosures/question.ts'
import { readRecordState } from '../../src/disclosures/record.ts'
import { integrationsShown } from '../../src/disclosures/shown.ts'
import { createIntegration } from '../../src/integrations/credentials.ts'
import { deleteIntegration, describeIntegration } from '../../src/integrations/lifecycle.ts'
import { useTestDatabase } from '../support/hooks.ts'

const LARGE = '9007199254740993'
const DAY = 86_400

/** Records as the service does that an integration was shown these people this many seconds ago. */
async function show(sql: Sql, clientId: string, ago: number, people: string[], assessments: string[]) {
  const key = Bun.randomUUIDv7()
  await sql`
    select record_disclosure(${key}, 'request', '10.1.2.3', ${clientId}, ${assessments}::bigint[], ${people}::bigint[], '{search}')`
  await sql`update disclosures set at = now() - make_interval(secs => ${ago}) where key = ${key}`
  return key
}

async function each(sql: Sql, question: Question): Promise<Disclosure[]> {
  const all: Disclosure[] = []
  for await (const { rows } of eachDisclosure(sql, question)) all.push(...rows)
  return all
}

describe('the report of disclosures', () => {
  const database = useTestDatabase()
  let nightly: string
  let gone: string
  let keys: string[]
  beforeAll(async () => {
    const { sql } = database
    const created = await createIntegration(sql, 'Nightly', [], [], { purpose: 'Renewal', contact: null })
    nightly = created.clientId
    gone = (await createIntegration(sql, 'Gone', [], [])).clientId
    keys = [
      await show(sql, nightly, 20 * DAY, ['501', '502'], ['9001', '9002']),
      await show(sql, gone, 12 * DAY, ['501', LARGE], [LARGE, '9001']),
    ]
    await describeIntegration(sql, nightly, { contact: 'hr@lakeside.example' })
    keys.push(await show(sql, nightly, 10 * DAY, ['501'], ['9001']))
    await describeIntegration(sql, nightly, { purpose: 'Audit' })
    await deleteIntegration(sql, gone)
    keys.push(await show(sql, nightly, 2 * DAY, ['501', '503'], ['9001', '9003']))
  })
  const ask = async (question: Question) =>
    (await integrationsShown(database.sql, question)).map(({ name, purpose, times }) => [
      name,
      purpose,
      times,
    ])

  test('has a row for each integration with its name and purpose at that time, the latest first, even after its deletion', async () => {
    const shown = await integrationsShown(database.sql, { userId: '501' })
    expect(shown.map(({ first, last, ...rest }) => rest)).toEqual([
      { client_id: nightly, name: 'Nightly', purpose: 'Audit', times: 1 },
      { client_id: nightly, name: 'Nightly', purpose: 'Renewal', times: 2 },
      { client_id: gone, name: 'Gone', purpose: null, times: 1 },
    ])
    const [row] = await database.sql<{ first: string; last: string }[]>`
      select to_char(min(at), 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as first, to_char(max(at), 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as last
      from disclosures where key in (${keys[0] as string}, ${keys[2] as string})`
    expect(shown[1]).toMatchObject({ ...row })
  })

  test.each([
    ['a person who is not in the data', { userId: LARGE }, [['Gone', null, 1]]],
    ['a person who was never disclosed', { userId: '504' }, []],
    ['a user id that is the id of an assessment', { userId: '9001' }, []],
    ['an assessment', { assessmentId: '9002' }, [['Nightly', 'Renewal', 1]]],
    ['an assessment with a large id', { assessmentId: LARGE }, [['Gone', null, 1]]],
    [
      'a period',
      { userId: '501', since: { ago: 15 * DAY }, until: { ago: 5 * DAY } },
      [
        ['Nightly', 'Renewal', 1],
        ['Gone', null, 1],
      ],
    ],
    [
      'all people',
      {},
      [
        ['Nightly', 'Audit', 1],
        ['Nightly', 'Renewal', 2],
        ['Gone', null, 1],
      ],
    ],
  ] as [string, Question, (string | number | null)[][]][])(
    'is right for %s',
    async (_, question, expected) => {
      expect(await ask(question)).toEqual(expected)
    },
  )

  test('without an end has answers that are later than the clock, and says so', async () => {
    const { sql } = database
    const key = await show(sql, nightly, -120, ['777'], ['9777'])
    expect(await ask({ userId: '777' })).toEqual([['Nightly', 'Audit', 1]])
    expect((await each(sql, { userId: '777' })).map(row => row.key)).toEqual([key])
    expect(await ask({ userId: '777', until: { ago: 0 } })).toEqual([])
    const ahead = Date.parse((await readRecordState(sql)).ahead ?? '') - Date.now()
    expect(ahead).toBeWithin(60_000, 121_000)
    await sql`delete from disclosures where key = ${key}`
    expect((await readRecordState(sql)).ahead).toBeNull()
  })

  test('is the same for any number of disclosures per query, even if several have the same time', async () => {
    const { sql } = database
    const again = await show(sql, nightly, DAY, ['501'], ['9001'])
    const whole = await integrationsShown(sql, {})
    expect(whole.map(({ times }) => times)).toEqual([2, 2, 1])
    const times = await sql<{ key: string; at: string }[]>`select key, at::text from disclosures`
    for (const size of [1, 2, 3, 4]) expect(await integrationsShown(sql, {}, undefined, size)).toEqual(whole)
    await sql`delete from disclosures where key = ${again}`
    await sql`update disclosures set at = '2026-01-01Z'`
    const looked: number[] = []
    const shown = await integrationsShown(
      sql,
      { since: { ago: 90_000 * DAY } },
      ({ answers }) => looked.push(answers),
      1,
    )
    expect([shown.map(({ times }) => times).sort(), looked]).toEqual([
      [1, 1, 2],
      [1, 2],
    ])
    for (const { key, at } of times)
      await sql`update disclosures set at = ${at}::text::timestamptz where key = ${key}`
  })

  test('can be limited to one integration, and refuses a client id that never existed', async () => {
    expect(await ask({ clientId: gone })).toEqual([['Gone', null, 1]])
    expect(await ask({ clientId: 'Nobody1' }).catch(error => error.message)).toStartWith(
      'there never was an integration Nobody1: ',
    )
  })

  test('takes both days of a period as whole days in the time zone of the platform', async () => {
    const { sql } = database
    await sql`update export_state set time_zone = 'America/New_York'`
    const first = keys[0] as string
    const at = async (instant: string) => {
      await sql`update disclosures set at = ${instant}::text::timestamptz where key = ${first}`
      return (await each(sql, { since: { day: '2024-03-10' }, until: { day: '2024-03-10' } })).length
    }
    expect(await at('2024-03-10 04:59:59.999999Z')).toBe(0)
    expect(await at('2024-03-10 05:00Z')).toBe(1)
    expect(await at('2024-03-11 03:59:59.999999Z')).toBe(1)
    expect(await at('2024-03-11 04:00Z')).toBe(0)
    await sql`update disclosures set at = now() - interval '20 days' where key = ${first}`
  })

  test('lists every single answer with its request id and its key', async () => {
    const all = await each(database.sql, { userId: '501' })
    expect(all.map(({ key }) => key)).toEqual(keys)
    expect(all[1]).toEqual({
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      key: keys[1] as string,
      client_id: gone,
      name: 'Gone',
      purpose: null,
      request_id: 'request',
      address: '10.1.2.3',
      filters: ['search'],
    })
  })
})
