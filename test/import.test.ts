import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Sql } from 'postgres'
import { everything, importLines, importText, staleRecords, useDatabase } from './support/import.ts'
import {
  common,
  organization,
  part,
  parted,
  people,
  product,
  removal,
  single,
  user,
} from './support/import-lines.ts'
import { BACKENDS } from './support/service.ts'

setDefaultTimeout(120_000)

// The example of the design, with the two proctors that it mentions.
const EXAMPLE = `{"type":"organization","id":12,"name":"Lakeside District"}
{"type":"product","id":7,"name":"Reading Observation"}
{"type":"user","id":501,"name":"Ana M. Ruiz","first_name":"Ana","last_name":"Ruiz","email":"ana@example.org","seid":"1234567890","record_status":"active"}
{"type":"assessment","id":9001,"user_id":501,"organization_id":12,"product_id":7,"certified_at":"2026-03-01T18:20:00Z","legacy_record":false,"proctor_id":77}
{"type":"assessment","id":9100,"user_id":501,"organization_id":12,"product_id":7,"certified_at":"2026-03-09T00:10:00-05:00","parts":[{"id":9101,"name":"Part 1","certified_at":"2026-03-01","proctor_id":77},{"id":9102,"name":"Part 2","certified_at":"2026-03-09T00:10:00-05:00","proctor_id":78}]}
{"type":"user","id":77,"name":"Pat Proctor"}
{"type":"user","id":78,"name":"Petra Proktor"}`

const PARTED =
  '{"id":9100,"seid":"1234567890","name":"Ana M. Ruiz","first_name":"Ana","last_name":"Ruiz","email":"ana@example.org",' +
  '"organization_id":12,"organization_name":"Lakeside District","assessment_name":"Reading Observation","certified_on":"2026-03-09",' +
  '"results":[{"assessment_id":9101,"assessment_name":"Part 1","certified_on":"2026-03-01","proctor_id":77,"proctor_name":"Pat Proctor"},' +
  '{"assessment_id":9102,"assessment_name":"Part 2","certified_on":"2026-03-09","proctor_id":78,"proctor_name":"Petra Proktor"}]}'

const SINGLE =
  '{"id":9001,"seid":"1234567890","name":"Ana M. Ruiz","first_name":"Ana","last_name":"Ruiz","email":"ana@example.org",' +
  '"organization_id":12,"organization_name":"Lakeside District","assessment_name":"Reading Observation","certified_on":"2026-03-01",' +
  '"results":[{"assessment_id":9001,"assessment_name":"Reading Observation","certified_on":"2026-03-01","proctor_id":77,"proctor_name":"Pat Proctor"}]}'

const documents = async (sql: Sql) =>
  (await sql<{ document: string }[]>`select document from export_records order by id`).map(
    row => row.document,
  )

/** The parts of each assessment in their order: { 9100: [9101, 9102] }. */
async function partsOf(sql: Sql): Promise<Record<string, number[]>> {
  const rows = await sql<{ id: string; parts: string[] }[]>`
    select a.id, array_remove(array_agg(p.id order by p.position), null) as parts
    from assessments a left join assessment_parts p on p.assessment_id = a.id group by a.id order by a.id`
  expect(await staleRecords(sql)).toBeEmpty()
  return Object.fromEntries(rows.map(row => [row.id, row.parts.map(Number)]))
}

describe.each(BACKENDS)('an import into %s', backend => {
  const database = useDatabase(backend)

  async function loaded(...lines: object[]): Promise<Record<string, number[]>> {
    expect(await importLines(database.sql, ...lines)).toMatchObject({ loaded: true, lines: lines.length })
    return await partsOf(database.sql)
  }

  test('loads every kind of line, and the records are as the contract shows them', async () => {
    expect(await importText(database.sql, EXAMPLE)).toMatchObject({ loaded: true, lines: 7 })
    expect(await documents(database.sql)).toEqual([SINGLE, PARTED])
    expect(await staleRecords(database.sql)).toBeEmpty()
  })

  test('takes the lines in any order, references before what they refer to', async () => {
    expect(await importText(database.sql, EXAMPLE.split('\n').reverse().join('\n'))).toMatchObject({
      loaded: true,
    })
    expect(await documents(database.sql)).toEqual([SINGLE, PARTED])
  })

  test('removes what is marked as deleted', async () => {
    await importText(database.sql, EXAMPLE)
    await importText(database.sql, '{"type":"assessment","id":9001,"deleted":true}')
    expect(await documents(database.sql)).toEqual([PARTED])
  })

  test('replaces what is there already, in every record that shows it', async () => {
    await importText(database.sql, EXAMPLE)
    await importText(
      database.sql,
      EXAMPLE.replaceAll('Lakeside', 'Seaside')
        .replaceAll('Reading', 'Writing')
        .replaceAll('Ana M. Ruiz', 'Ana Roth')
        .replaceAll('Pat ', 'Pia ')
        .replaceAll('"1234567890"', 'null')
        .replaceAll('"active"', '"archived"')
        .replaceAll('2026-03-01T', '2026-03-02T'),
    )
    const [record] = await database.sql`
      select document::json as document, seid, record_status from export_records where id = 9001`
    expect(record).toMatchObject({ seid: null, record_status: 'archived' })
    expect(record?.document).toMatchObject({
      seid: null,
      name: 'Ana Roth',
      organization_name: 'Seaside District',
      assessment_name: 'Writing Observation',
      certified_on: '2026-03-02',
      results: [
        { assessment_name: 'Writing Observation', certified_on: '2026-03-02', proctor_name: 'Pia Proctor' },
      ],
    })
  })

  test('lets the last of several lines for one id hold, and only its parts', async () => {
    expect(
      await loaded(
        ...people,
        parted(10, 11, 12),
        user(1, 'old'),
        parted(10, 12, 13),
        user(1, 'new'),
        organization(1, 'x'),
      ),
    ).toEqual({ 10: [12, 13] })
    const [record] = await database.sql`select document::json ->> 'name' as name from export_records`
    expect(record?.name).toBe('new')
  })

  test('lets the last line hold whether it deletes or brings back', async () => {
    const lines = [single(10), removal('assessment', 10), removal('assessment', 20), parted(20, 21)]
    expect(await loaded(...people, ...lines)).toEqual({ 20: [21] })
    expect(await loaded(...lines.slice(0, 1), removal('user', 1), user(1, 'back'))).toEqual({
      10: [10],
      20: [21],
    })
  })

  test('does not mind earlier lines for an id whose references are not there', async () => {
    expect(await loaded(...people, { ...single(10), user_id: 99 }, single(10))).toEqual({ 10: [10] })
  })

  test('removes assessments with their parts, and then what nothing needs any more', async () => {
    await loaded(...people, single(10), parted(20, 21, 22))
    const removals = [
      removal('organization', 1),
      removal('user', 1),
      removal('product', 1),
      removal('user', 2),
    ]
    expect(await loaded(...removals, removal('assessment', 20), removal('assessment', 10))).toEqual({})
    for (const table of ['organizations', 'products', 'users', 'assessment_parts', 'export_records'])
      expect(await database.sql`select id from ${database.sql(table)}`).toBeEmpty()
  })

  test('removes what no longer is needed because the file makes its assessments need something else', async () => {
    await loaded(...people, single(10), parted(20, 21))
    const moved = { user_id: 5, organization_id: 5, product_id: 5 }
    const others = [user(5), organization(5), product(5)]
    const removals = [
      removal('user', 1),
      removal('user', 2),
      removal('organization', 1),
      removal('product', 1),
    ]
    const changed = [
      { ...single(10, { proctor_id: 5 }), ...moved },
      { ...common, ...moved, id: 20, parts: [part(21, 5)] },
    ]
    expect(await loaded(...removals, ...changed, ...others)).toEqual({ 10: [10], 20: [21] })
  })

  test('has nothing against removing what is not there', async () => {
    const all = ['organization', 'product', 'user', 'assessment'].map(type => removal(type, 404))
    expect(await loaded(...all)).toEqual({})
  })

  test('replaces the parts of an assessment by those of its line', async () => {
    await loaded(...people, parted(10, 11, 12, 13))
    expect(await loaded(parted(10, 13, 11))).toEqual({ 10: [13, 11] })
    expect(await loaded(parted(10, 14))).toEqual({ 10: [14] })
    expect(await loaded(single(10))).toEqual({ 10: [10] })
    expect(await loaded(parted(10, 11, 12))).toEqual({ 10: [11, 12] })
  })

  test('moves a part to another assessment, whichever of the two comes first', async () => {
    await loaded(...people, parted(10, 11, 12), parted(20, 21))
    expect(await loaded(parted(20, 21, 12), parted(10, 11))).toEqual({ 10: [11], 20: [21, 12] })
    expect(await loaded(parted(10, 12), parted(20, 21))).toEqual({ 10: [12], 20: [21] })
    expect(await loaded(parted(10, 21), parted(20, 12))).toEqual({ 10: [21], 20: [12] })
    expect(await loaded(removal('assessment', 10), parted(20, 12, 21))).toEqual({ 20: [12, 21] })
  })

  test('lets the id of a part become that of an assessment and back', async () => {
    await loaded(...people, parted(10, 11, 12))
    expect(await loaded(single(11), parted(12, 13), parted(10, 14))).toEqual({ 10: [14], 11: [11], 12: [13] })
    expect(await loaded(removal('assessment', 12), parted(10, 12, 11), removal('assessment', 11))).toEqual({
      10: [12, 11],
    })
  })

  test('that changes nothing writes nothing', async () => {
    await loaded(...people, single(10), parted(20, 21, 22), user(3))
    const before = await everything(database.sql)
    await loaded(...people, single(10), parted(20, 21, 22), user(3))
    await loaded(removal('assessment', 404), removal('user', 404))
    expect(await importText(database.sql, '')).toMatchObject({ loaded: true, lines: 0 })
    expect(await everything(database.sql)).toEqual(before)
  })

  test('that changes one row writes that row and its record, and advances the version', async () => {
    await loaded(...people, single(10), parted(20, 21, 22))
    const places = () =>
      database.sql`select 'record' as kind, id, ctid::text, xmin::text from export_records
        union all select 'part', id, ctid::text, xmin::text from assessment_parts
        union all select 'assessment', id, ctid::text, xmin::text from assessments order by 1, 2`
    const version = async () => Number((await database.sql`select version from export_state`)[0]?.version)
    const [before, versionBefore] = [await places(), await version()]
    await loaded(...people, single(10, { proctor_id: 1 }), parted(20, 21, 22))
    const written = (await places()).filter(row => !before.some(old => Bun.deepEquals(old, row)))
    expect(written.map(({ kind, id }) => `${kind} ${id}`)).toEqual(['part 10', 'record 10'])
    expect(await version()).toBeGreaterThan(versionBefore)
  })

  test.each([
    ['UTC', '2026-03-01 00:00:00+00'],
    ['America/New_York', '2026-03-01 05:00:00+00'],
    ['Pacific/Kiritimati', '2026-02-28 10:00:00+00'],
    ['Pacific/Pago_Pago', '2026-03-01 11:00:00+00'],
    ['Asia/Kathmandu', '2026-02-28 18:15:00+00'],
  ])('takes a bare date for the start of the day in the time zone %s', async (zone, start) => {
    await database.sql`update export_state set time_zone = ${zone}`
    await loaded(...people, single(10), {
      ...common,
      id: 20,
      parts: [{ ...part(21), certified_at: '2026-03-01' }],
    })
    const [row] = await database.sql`
      select a.certified_at::text as assessment, p.certified_at::text as part, r.document::json as document
      from assessments a join assessment_parts p on p.assessment_id = a.id join export_records r on r.id = a.id
      where a.id = 20`
    expect(row).toMatchObject({ assessment: start, part: start })
    expect(row?.document).toMatchObject({
      certified_on: '2026-03-01',
      results: [{ certified_on: '2026-03-01' }],
    })
  })

  test('keeps the day of a bare date that has no midnight, and all digits of an instant', async () => {
    await database.sql`update export_state set time_zone = 'America/Santiago'`
    const dates = ['2024-09-08', '2024-09-07', '2024-04-07', '2024-09-08T03:59:59.999999Z']
    await loaded(...people, ...dates.map((certified_at, index) => ({ ...single(10 + index), certified_at })))
    const rows = await database.sql`
      select r.certified_on::text as day, a.certified_at::text as at
      from export_records r join assessments a using (id) order by id`
    expect(rows.map(row => row.day)).toEqual(['2024-09-08', '2024-09-07', '2024-04-07', '2024-09-07'])
    expect(rows[3]?.at).toBe('2024-09-08 03:59:59.999999+00')
  })
})

// The rounds of statements that a long import takes are the same on both.
describe('a long import', () => {
  const database = useDatabase('postgres')

  test('lets ids change hands between lines that are far apart', async () => {
    const { sql } = database
    await importLines(sql, ...people, parted(1, 2, 3), parted(4, 5, 6), single(7))
    const between = Array.from({ length: 20_001 }, (_, index) => single(1000 + index))
    const lines = [parted(2, 6), removal('assessment', 7), ...between, parted(4, 5, 3), parted(1, 7)]
    expect(await importLines(sql, ...lines)).toMatchObject({ loaded: true, lines: lines.length })
    const parts = await partsOf(sql)
    for (const { id } of between) delete parts[id]
    expect(parts).toEqual({ 1: [7], 2: [6], 4: [5, 3] })
  })
})
