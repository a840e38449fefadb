import { beforeAll, describe, expect, test } from 'bun:test'
import type { Sql } from 'postgres'
import { readCoverage } from '../../src/disclosures/coverage.ts'
import type { DisclosureFilter } from '../../src/disclosures/disclosure-filter.ts'
import { type Disclosure, eachDisclosure } from '../../src/disclosures/each-disclosure.ts'
import { listRecipients } from '../../src/disclosures/recipients.ts'
import { createIntegration } from '../../src/integrations/credentials.ts'
import { deleteIntegration, describeIntegration } from '../../src/integrations/lifecycle.ts'
import { codeUnder, pageOf } from '../support/document.ts'
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

async function each(sql: Sql, filter: DisclosureFilter): Promise<Disclosure[]> {
  const all: Disclosure[] = []
  for await (const rows of eachDisclosure(sql, filter)) all.push(...rows)
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
    await describeIntegration(sql, nightly, { contact: 'hr@lakeside.example' })
    await describeIntegration(sql, nightly, { purpose: 'Audit' })
    await deleteIntegration(sql, gone)
    await sql`alter table integration_history disable trigger integration_history_append_only`
    await sql`
      update integration_history set at = now() - make_interval(days => case
        when event = 'created' then 30 when changes ? 'contact' then 11 else 5 end)`
    await sql`alter table integration_history enable trigger integration_history_append_only`
    keys = [
      await show(sql, nightly, 20 * DAY, ['501', '502'], ['9001', '9002']),
      await show(sql, gone, 12 * DAY, ['501', LARGE], [LARGE, '9001']),
      await show(sql, nightly, 10 * DAY, ['501'], ['9001']),
      await show(sql, nightly, 2 * DAY, ['501', '503'], ['9001', '9003']),
    ]
  })
  const ask = async (filter: DisclosureFilter) =>
    (await listRecipients(database.sql, filter)).map(({ name, purpose, times }) => [name, purpose, times])

  test('has a row for each integration with its name and purpose at that time, the latest first, even after its deletion', async () => {
    const recipients = await listRecipients(database.sql, { userId: '501' })
    expect(recipients.map(({ first, last, ...rest }) => rest)).toEqual([
      { client_id: nightly, name: 'Nightly', purpose: 'Audit', times: 1 },
      { client_id: nightly, name: 'Nightly', purpose: 'Renewal', times: 2 },
      { client_id: gone, name: 'Gone', purpose: null, times: 1 },
    ])
    const [row] = await database.sql<{ first: string; last: string }[]>`
      select to_char(min(at), 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as first, to_char(max(at), 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as last
      from disclosures where key in (${keys[0] as string}, ${keys[2] as string})`
    expect(recipients[1]).toMatchObject({ ...row })
  })

  test.each([
    ['a person who is not in the data', { userId: LARGE }, [['Gone', null, 1]]],
    ['a person who was never disclosed', { userId: '504' }, []],
    ['a user id that is the id of an assessment', { userId: '9001' }, []],
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
  ] as [string, DisclosureFilter, (string | number | null)[][]][])(
    'is right for %s',
    async (_, filter, expected) => {
      expect(await ask(filter)).toEqual(expected)
    },
  )

  test('finds to whom assessments of a proctor were shown, and by the SQL of docs/operate/privacy.md those of one', async () => {
    const { sql } = database
    await sql.unsafe(`
      insert into organizations (id, name) values (1, 'Lakeside');
      insert into products (id, name) values (1, 'Reading');
      insert into users (id, name) values (1, 'Educator'), (501, 'Proctor'), (502, 'Other');
      insert into assessments (id, user_id, organization_id, product_id, certified_at)
      select id, 1, 1, 1, now() from unnest('{9002,9003,9005,9007199254740991}'::bigint[]) as id;
      insert into assessment_parts (id, assessment_id, position, proctor_id)
      values (9002, 9002, 0, 501), (9003, 9003, 0, 502), (9005, 9005, 0, 501),
        (9007199254740991, 9007199254740991, 0, 501);
      -- An own assessment is none of others.
      insert into assessments (id, user_id, organization_id, product_id, certified_at) values (9001, 501, 1, 1, now());
      insert into assessment_parts (id, assessment_id, position, proctor_id) values (9001, 9001, 0, 501)`)
    const large = await show(sql, gone, DAY, ['1'], ['9003', '9007199254740991'])
    expect(await ask({ proctorId: '501' })).toEqual([
      ['Gone', null, 1],
      ['Nightly', 'Renewal', 1],
    ])
    expect(await ask({ proctorId: '501', clientId: nightly })).toEqual([['Nightly', 'Renewal', 1]])
    const [query = ''] = codeUnder('Who was shown whose records', 'sql', pageOf('privacy.md'))
    const shown = [...(await sql.unsafe(query))].map(row => [row.client_id, Number(row.answers)])
    expect(Object.fromEntries(shown)).toEqual({ [gone]: 1, [nightly]: 3 })
    await sql`delete from disclosures where key = ${large}`
  })

  test('without an end has answers that are later than the clock, and says so', async () => {
    const { sql } = database
    const key = await show(sql, nightly, -120, ['777'], ['9777'])
    expect(await ask({ userId: '777' })).toEqual([['Nightly', 'Audit', 1]])
    expect((await each(sql, { userId: '777' })).map(row => row.key)).toEqual([key])
    expect(await ask({ userId: '777', until: { ago: 0 } })).toEqual([])
    const ahead = Date.parse((await readCoverage(sql)).ahead ?? '') - Date.now()
    expect(ahead).toBeWithin(60_000, 121_000)
    await sql`delete from disclosures where key = ${key}`
    expect((await readCoverage(sql)).ahead).toBeNull()
  })

  test('has the present name of an integration that was made with SQL, and its client id if it was deleted with SQL', async () => {
    const { sql } = database
    await sql`insert into integrations (client_id, name, purpose) values ('BySql', 'By SQL', 'Own')`
    const key = await show(sql, 'BySql', DAY, ['777'], ['9777'])
    const [recipient] = await listRecipients(sql, { userId: '777' })
    expect(recipient).toMatchObject({ client_id: 'BySql', name: 'By SQL', purpose: 'Own', times: 1 })
    await sql`delete from integrations where client_id = 'BySql'`
    const [after] = await listRecipients(sql, { clientId: 'BySql' })
    expect(after).toMatchObject({ client_id: 'BySql', name: null, purpose: null, times: 1 })
    await sql`delete from disclosures where key = ${key}`
  })

  test('has the name before the first event from that event', async () => {
    const { sql } = database
    await sql`insert into integrations (client_id, name) values ('Later', 'Later')`
    const key = await show(sql, 'Later', DAY, ['778'], ['9778'])
    await deleteIntegration(sql, 'Later')
    expect(await ask({ userId: '778' })).toEqual([['Later', null, 1]])
    await sql`delete from disclosures where key = ${key}`
  })

  test('lists more answers than are in memory at a time, each once and in their order', async () => {
    const { sql } = database
    await sql`
      insert into disclosures (key, at, client_id, request_id, assessment_ids, user_ids)
      select gen_random_uuid(), now() - make_interval(secs => n / 2), ${nightly}, n::text, '{1}', '{779}'
      from generate_series(1, 2500) n`
    const sizes: number[] = []
    const all: Disclosure[] = []
    for await (const rows of eachDisclosure(sql, { userId: '779' })) {
      sizes.push(rows.length)
      all.push(...rows)
    }
    expect(sizes).toEqual([1000, 1000, 500])
    expect(new Set(all.map(({ request_id }) => request_id)).size).toBe(2500)
    expect(all.map(({ at }) => at)).toEqual(all.map(({ at }) => at).toSorted())
    await sql`delete from disclosures where '{779}' = user_ids`
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

describe('the recording of a disclosure', () => {
  const database = useTestDatabase()

  test('is on the disk at its commit, also where synchronous_commit is off, and leaves a higher setting', async () => {
    for (const [before, after] of [
      ['off', 'local'],
      ['remote_apply', 'remote_apply'],
    ] as const)
      await database.sql.begin(async sql => {
        await sql`select set_config('synchronous_commit', ${before}, true)`
        await sql`
          select record_disclosure(gen_random_uuid(), 'request', null, 'client', '{1}'::bigint[], '{2}'::bigint[], null)`
        const [{ now }] = (await sql`select current_setting('synchronous_commit') as now`) as [
          { now: string },
        ]
        expect(now).toBe(after)
      })
  })

  test('under the same key again adds no row', async () => {
    const key = Bun.randomUUIDv7()
    for (let times = 0; times < 2; times++)
      await database.sql`
        select record_disclosure(${key}, 'request', null, 'client', '{1}'::bigint[], '{2}'::bigint[], null)`
    expect(await database.sql`select from disclosures where key = ${key}`).toHaveLength(1)
  })
})
