import { describe, expect, test } from 'bun:test'
import type { Sql } from 'postgres'
import {
  assessment,
  EDUCATOR,
  educator,
  type Line,
  multiPart,
  organization,
  part,
  product,
  REFERENCED,
  removal,
} from '../support/fixtures.ts'
import {
  everything,
  idsOf,
  importLines,
  importText,
  importWith,
  partsOf,
  staleRecords,
  useDatabase,
  versionOf,
} from '../support/import.ts'

// The example of the import format in the documents, with two proctors added.
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

const parted = (id: number, ...parts: number[]) => multiPart(id, parts)
const REMOVALS = REFERENCED.map(({ type, id }) => removal(type, id))

const documents = async (sql: Sql) =>
  (await sql<{ document: string }[]>`select document from export_records order by id`).map(
    row => row.document,
  )

describe('an import', () => {
  const database = useDatabase()

  test('that puts no index off reports none that it builds', async () => {
    const phases = new Set<string>()
    await importText(database.sql, EXAMPLE, { onProgress: ({ phase }) => phases.add(phase) })
    expect([...phases]).not.toContain('indexing')
    expect([...phases]).toContain('loading')
  })

  async function loaded(...lines: object[]): Promise<Record<string, number[]>> {
    expect(await importLines(database.sql, ...lines)).toMatchObject({ loaded: true, lines: lines.length })
    return await partsOf(database.sql)
  }

  test('loads lines of all types, and renders records as the contract has them', async () => {
    expect(await importText(database.sql, EXAMPLE)).toMatchObject({ loaded: true, lines: 7 })
    expect(await documents(database.sql)).toEqual([SINGLE, PARTED])
    expect(await staleRecords(database.sql)).toBeEmpty()
  })

  test('loads every row of 12,000, which are staged in several batches', async () => {
    const many = Array.from({ length: 12_000 }, (_, at) => organization(at + 1))
    expect(await importLines(database.sql, ...many)).toMatchObject({ loaded: true, lines: 12_000 })
    expect(await idsOf(database.sql, 'organizations')).toEqual(many.map(({ id }) => id))
  })

  test('accepts lines in any order, also a reference before its target', async () => {
    await importLines(database.sql, ...EXAMPLE.split('\n').reverse())
    expect(await documents(database.sql)).toEqual([SINGLE, PARTED])
  })

  test('stores every character of a text, also those that end or quote a value', async () => {
    const name = `a"b""c\\d\\n\\N\\.\t,'null'\n\r\u0001\u2028\ud83d\ude00ß`
    await importLines(database.sql, ...REFERENCED, organization(11, 'null'), organization(12, name))
    await importLines(database.sql, educator(600, { name, first_name: '\\', last_name: '"', email: '' }))
    const stored = await database.sql`select name from organizations where id > 10 order by id`
    expect(stored.map(row => row.name)).toEqual(['null', name])
    const [user] = await database.sql`select name, first_name, last_name, email from users where id = 600`
    expect(user).toEqual({ name, first_name: '\\', last_name: '"', email: '' })
  })

  test('replaces stored rows, and renders every record that shows them', async () => {
    await importText(database.sql, EXAMPLE)
    const change = (text: string) =>
      text
        .replaceAll('Lakeside', 'Seaside')
        .replaceAll('Reading', 'Writing')
        .replaceAll('Ana M. Ruiz', 'Ana Roth')
        .replaceAll('Pat ', 'Pia ')
        .replaceAll('"1234567890"', 'null')
    await importText(database.sql, change(EXAMPLE).replaceAll('"active"', '"archived"'))
    expect(await documents(database.sql)).toEqual([change(SINGLE), change(PARTED)])
    expect(await database.sql`select from export_records where is_archived`).toHaveLength(2)
  })

  test('removes assessments with their parts, then the people, organizations and products that no assessment needs', async () => {
    await loaded(...REFERENCED, assessment(10), parted(20, 21, 22))
    expect(await loaded(...REMOVALS, removal('assessment', 20), removal('assessment', 10))).toEqual({})
    for (const table of ['organizations', 'products', 'users', 'assessment_parts', 'export_records'])
      expect(await database.sql`select id from ${database.sql(table)}`).toBeEmpty()
  })

  test('removes a person, organization and product that the same file makes its assessments stop using', async () => {
    await loaded(...REFERENCED, assessment(10), parted(20, 21))
    const moved = { user_id: 5, organization_id: 5, product_id: 5 }
    const others = [educator(5), organization(5), product(5)]
    const changed = [
      assessment(10, { proctor_id: 5, ...moved }),
      multiPart(20, [part(21, { proctor_id: 5 })], moved),
    ]
    expect(await loaded(...REMOVALS, ...changed, ...others)).toEqual({ 10: [10], 20: [21] })
  })

  const deleted = (id: number) => removal('assessment', id)
  test.each<[string, Line[], Record<number, number[] | undefined>]>([
    ['accepts the removal of absent rows', [deleted(404), removal('user', 404)], {}],
    ['replaces parts and their order', [parted(10, 13, 11)], { 10: [13, 11] }],
    ['replaces several parts by one', [assessment(10)], { 10: [10] }],
    ['replaces one part by several', [parted(30, 31, 32)], { 30: [31, 32] }],
    [
      'moves a part to an earlier assessment',
      [parted(10, 11, 22), parted(20, 21)],
      { 10: [11, 22], 20: [21] },
    ],
    ['moves a part to a later assessment', [parted(10, 11), parted(20, 21, 12)], { 10: [11], 20: [21, 12] }],
    ['swaps parts between two assessments', [parted(10, 21), parted(20, 11)], { 10: [21], 20: [11] }],
    ['moves a part of a deleted assessment', [deleted(20), parted(10, 21)], { 10: [21], 20: undefined }],
    [
      'makes assessments out of parts',
      [assessment(11), parted(12, 13), parted(10, 14)],
      { 10: [14], 11: [11], 12: [13] },
    ],
    ['makes a part out of an assessment', [deleted(30), parted(10, 30)], { 10: [30], 30: undefined }],
  ])('%s', async (_, lines, changes) => {
    await loaded(...REFERENCED, parted(10, 11, 12), parted(20, 21, 22), assessment(30))
    const expected = { 10: [11, 12], 20: [21, 22], 30: [30], ...changes }
    // Compared as JSON, which omits undefined values.
    expect(JSON.stringify(await loaded(...lines))).toBe(JSON.stringify(expected))
  })

  test('writes nothing if no line changes anything', async () => {
    await loaded(...REFERENCED, assessment(10), parted(20, 21, 22), educator(3))
    const before = await everything(database.sql)
    await loaded(...REFERENCED, assessment(10), parted(20, 21, 22), educator(3))
    await loaded(removal('assessment', 404), removal('user', 404))
    expect(await everything(database.sql)).toEqual(before)
  })

  test('that changes one row writes that row and its record, and advances the version', async () => {
    await loaded(...REFERENCED, assessment(10), parted(20, 21, 22))
    const places = () =>
      database.sql`select 'record' as kind, id, ctid::text, xmin::text from export_records
        union all select 'part', id, ctid::text, xmin::text from assessment_parts
        union all select 'assessment', id, ctid::text, xmin::text from assessments order by 1, 2`
    const [before, versionBefore] = [await places(), await versionOf(database.sql)]
    await loaded(...REFERENCED, assessment(10, { proctor_id: EDUCATOR }), parted(20, 21, 22))
    const written = (await places()).filter(row => !before.some(old => Bun.deepEquals(old, row)))
    expect(written.map(({ kind, id }) => `${kind} ${id}`)).toEqual(['part 10', 'record 10'])
    expect(await versionOf(database.sql)).not.toBe(versionBefore)
  })

  test('sets the time of the last import if all lines were loaded, even without a change, and in no other case', async () => {
    const { sql } = database
    const noted = async (work: () => Promise<unknown>) => {
      await sql`update export_state set last_import_at = null`
      await work()
      const [state] =
        await sql`select now() - last_import_at < interval '1 minute' as is_new from export_state`
      return state?.is_new
    }
    expect(await noted(() => importLines(sql, ...REFERENCED))).toBe(true)
    expect(await noted(() => importLines(sql, ...REFERENCED))).toBe(true)
    expect(await noted(() => importWith(sql, { dryRun: true }, ...REFERENCED))).toBeNull()
    expect(await noted(() => importLines(sql, ...REFERENCED, 'nonsense'))).toBeNull()
  })

  test.each(['UTC', 'Pacific/Kiritimati', 'Pacific/Niue'])(
    'accepts the first and the last days of the years 1 to 9999 in %s, and shows no day outside them in any zone',
    async zone => {
      const { sql } = database
      const days = async (): Promise<string[]> => {
        const rows = await sql`
          select document::json ->> 'certified_on' as day, document::json -> 'results' -> 0 ->> 'certified_on' as part
          from export_records order by id`
        for (const { day, part } of rows) expect(part).toBe(day)
        return rows.map(({ day }) => day)
      }
      await sql`update export_state set time_zone = ${zone}`
      const dates = [
        '0001-01-01',
        '9999-12-31',
        '0001-01-01T00:00:00+14:00',
        '9999-12-31T23:59:59.999999-14:00',
      ]
      await loaded(
        ...REFERENCED,
        ...dates.map((certified_at, at) =>
          multiPart(10 + 2 * at, [part(11 + 2 * at, { certified_at })], { certified_at }),
        ),
      )
      expect(await days()).toEqual(['0001-01-01', '9999-12-31', '0001-01-01', '9999-12-31'])
      for (const other of ['Pacific/Kiritimati', 'Pacific/Niue']) {
        await sql`update export_state set time_zone = ${other}`
        for (const day of await days()) expect(day).toMatch(/^(0001-01-0[12]|9999-12-(29|3[01]))$/)
      }
    },
  )

  test('keeps the day of a bare date whose day has no midnight, and all digits of an instant', async () => {
    await database.sql`update export_state set time_zone = 'America/Santiago'`
    const dates = ['2024-09-08', '2024-09-07', '2024-04-07', '2024-09-08T03:59:59.999999Z']
    await loaded(
      ...REFERENCED,
      ...dates.map((certified_at, index) => assessment(10 + index, { certified_at })),
    )
    const rows = await database.sql`
      select r.certified_on::text as day, a.certified_at::text as at
      from export_records r join assessments a using (id) order by id`
    expect(rows.map(row => row.day)).toEqual(['2024-09-08', '2024-09-07', '2024-04-07', '2024-09-07'])
    expect(rows[3]?.at).toBe('2024-09-08 03:59:59.999999+00')
  })
})
