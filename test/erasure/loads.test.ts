import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { erasePerson } from '../../src/erasure/erase.ts'
import { importSource } from '../../src/import/import.ts'
import { ndjson } from '../../src/import/ndjson.ts'
import type { Reject } from '../../src/import/rejects.ts'
import type { ImportOptions } from '../../src/import/result.ts'
import { openSource } from '../../src/import/source.ts'
import { csvOf, folderOf } from '../import/csv-files.ts'
import { cleanUp } from '../support/executable.ts'
import { assessment, EDUCATOR, educator, multiPart, part, REFERENCED, removal } from '../support/fixtures.ts'
import {
  everything,
  idsOf,
  importLines,
  importWith,
  partsOf,
  problems,
  staleRecords,
  useDatabase,
} from '../support/import.ts'
import { round, usePlatform } from '../support/platform-example.ts'

afterAll(cleanUp)

/** The person whom these tests erase. */
const GONE = 600
const ALL = [
  ...[...REFERENCED, educator(GONE), educator(2)],
  assessment(10, { user_id: GONE }),
  multiPart(20, [21, part(22, { proctor_id: 2 })], { user_id: GONE }),
  multiPart(40, [41, part(42, { proctor_id: GONE })], { user_id: 2 }),
  assessment(50),
]

describe('an import after an erasure', () => {
  const database = useDatabase()
  const erase = (id: number) => erasePerson(database.sql, String(id), { dryRun: false, onWait: () => {} })
  beforeEach(async () => {
    await database.sql`truncate erasures`
  })

  const load = (options: ImportOptions, ...lines: (object | string)[]) =>
    importWith(database.sql, options, ...lines)
  const loadFiles = async (files: Record<string, string>, options: ImportOptions = {}) =>
    await importSource(database.sql, openSource(folderOf(files)), () => {}, options)

  test('leaves the lines of the person out, counts them, and loads all others, incrementally and as a bulk load', async () => {
    await importLines(database.sql, ...ALL)
    await erase(GONE)
    const tombstones = async () => [...(await database.sql`select xmin::text, * from erasures`)]
    const before = [await everything(database.sql), await tombstones()]
    expect(await importLines(database.sql, ...ALL)).toMatchObject({
      loaded: true,
      lines: 10,
      rejected: 0,
      erased: { people: 1, lines: 3 },
      summary: {
        users: { inserted: 0, updated: 0, unchanged: 4, deleted: 0 },
        assessments: { inserted: 0, updated: 0, unchanged: 2, deleted: 0 },
        assessment_parts: { inserted: 0, updated: 0, unchanged: 3, deleted: 0 },
      },
    })
    expect([await everything(database.sql), await tombstones()]).toEqual(before)
    await database.sql`truncate organizations, products, users, assessments, assessment_parts`
    expect(await importLines(database.sql, ...ALL)).toMatchObject({
      erased: { people: 1, lines: 3 },
      summary: { users: { inserted: 4 }, assessments: { inserted: 2 }, assessment_parts: { inserted: 3 } },
    })
    expect(await partsOf(database.sql)).toEqual({ 40: [41, 42], 50: [50] })
    const [row] = await database.sql`select name, email, seid from users where id = ${GONE}`
    expect(row).toEqual({ name: 'Erased person', email: '', seid: null })
  })

  test('may happen while a pipe says nothing: the import of the pipe leaves the person out', async () => {
    const texts = ALL.map(line => `${JSON.stringify(line)}\n`)
    const chunks = (async function* () {
      yield Buffer.from(texts.slice(0, 5).join(''))
      await importLines(database.sql, ...REFERENCED)
      await erase(GONE)
      yield Buffer.from(texts.slice(5).join(''))
    })()
    const piped = { ...ndjson({ chunks }), isStream: true as const }
    expect(await importSource(database.sql, piped, () => {})).toMatchObject({
      loaded: true,
      erased: { people: 1, lines: 3 },
    })
    expect(await partsOf(database.sql)).toEqual({ 40: [41, 42], 50: [50] })
  })

  test('with --sync neither removes nor loads the person, and counts the person for no limit', async () => {
    await importLines(database.sql, ...ALL)
    await erase(GONE)
    const before = await everything(database.sql)
    expect(await load({ sync: { count: 0 } }, ...ALL)).toMatchObject({ loaded: true, erased: { people: 1 } })
    expect(await everything(database.sql)).toEqual(before)
  })

  test('never rejects a line that names the person, even if the line is bad', async () => {
    await importLines(database.sql, ...ALL)
    await erase(GONE)
    const lines = [
      educator(GONE, { email: 7 }),
      { type: 'user', id: GONE, email: 'a@example.org' },
      assessment(11, { user_id: GONE, proctor_id: 12345 }),
      { ...assessment(12, { user_id: GONE }), organization_id: 'x' },
      assessment(51),
    ]
    const twice = [assessment(10, { user_id: GONE }), assessment(10, { user_id: GONE, organization_id: 11 })]
    expect(
      await importLines(database.sql, ...twice, { ...assessment(20, { user_id: GONE }), certified_at: 'x' }),
    ).toMatchObject({ loaded: true, erased: { people: 1, lines: 3 } })
    expect(await importLines(database.sql, ...lines)).toMatchObject({
      loaded: true,
      erased: { people: 1, lines: 4 },
      summary: { users: { unchanged: 1 }, assessments: { inserted: 1 } },
    })
    const rejects: Reject[] = []
    const onReject = (reject: Reject) => void rejects.push(reject)
    const all = [...lines, 'nonsense', assessment(52, { user_id: 12345 })]
    expect(await load({ onReject }, ...all)).toMatchObject({ rejected: 2, erased: { people: 1, lines: 4 } })
    expect(rejects.map(({ line }) => line)).toEqual([6, 7])
    expect(await staleRecords(database.sql)).toBeEmpty()
  })

  test('still refuses differing lines that name somebody else as the educator', async () => {
    await importLines(database.sql, ...REFERENCED, multiPart(70, [71], { user_id: GONE }))
    await erase(GONE)
    const differing = (user_id: number) => [assessment(70, { user_id }), multiPart(70, [72], { user_id })]
    expect(problems(await importLines(database.sql, ...differing(EDUCATOR)))).toEqual([
      '1: assessment 70 differs from line 2',
      '2: assessment 70 differs from line 1',
    ])
    expect(await importLines(database.sql, ...differing(GONE))).toMatchObject({
      loaded: true,
      erased: { people: 1, lines: 2 },
    })
  })

  test('stores the person without a name if a new assessment of somebody else needs the person', async () => {
    await importLines(database.sql, ...REFERENCED)
    await erase(GONE)
    expect(await importLines(database.sql, assessment(60, { proctor_id: GONE }))).toMatchObject({
      loaded: true,
      erased: { people: 0, lines: 0 },
      summary: { users: { inserted: 1 }, assessments: { inserted: 1 } },
    })
    expect((await database.sql`select from users where name = 'Erased person'`).count).toBe(1)
    const both = [removal('user', GONE), assessment(61, { proctor_id: GONE })]
    expect(problems(await importLines(database.sql, ...both))).toEqual([
      '1: user 600 cannot be deleted: assessment 60 needs it (delete that, too, or archive the user)',
      '2: proctor_id: user 600 is deleted by line 1 (delete this, too, or archive the user)',
    ])
  })

  test('keeps the row without a name, even if records of others are bad and with --sync', async () => {
    await importLines(database.sql, ...REFERENCED)
    await erase(GONE)
    const lines = [
      assessment(60, { proctor_id: GONE, organization_id: 12345 }),
      assessment(61, { proctor_id: GONE }),
    ]
    expect(await load({ onReject: () => {} }, ...lines)).toMatchObject({ loaded: true, rejected: 1 })
    for (let nights = 2; nights > 0; nights--)
      expect(
        await load({ sync: { count: 0 } }, ...REFERENCED, assessment(61, { proctor_id: GONE })),
      ).toMatchObject({ loaded: true, summary: { users: { deleted: 0 } } })
    expect(await partsOf(database.sql)).toEqual({ 61: [61] })
  })

  test('deletes the row of the person that the source deletes, also if a bad record needs it', async () => {
    await importLines(database.sql, ...REFERENCED)
    await erase(GONE)
    const lines = [
      removal('user', GONE),
      assessment(60, { proctor_id: GONE, organization_id: 12345 }),
      assessment(61),
    ]
    const loaded = await load({ onReject: () => {} }, ...lines)
    expect(loaded).toMatchObject({ loaded: true, summary: { users: { inserted: 0 } } })
    expect(await database.sql`select from users where id = ${GONE}`).toBeEmpty()
    expect(await partsOf(database.sql)).toEqual({ 61: [61] })
  })

  test('removes an assessment that now belongs to the person', async () => {
    await importLines(database.sql, ...REFERENCED, multiPart(70, [71, 72]))
    await erase(GONE)
    const over = multiPart(70, [71, 72], { user_id: GONE })
    expect(await importLines(database.sql, educator(GONE), over)).toMatchObject({
      loaded: true,
      erased: { people: 1, lines: 2 },
    })
    for (const table of ['assessments', 'assessment_parts', 'export_records'])
      expect(await idsOf(database.sql, table)).toEqual([])
  })

  test('removes what SQL has written about the person', async () => {
    await importLines(database.sql, ...ALL)
    await erase(GONE)
    await database.sql.unsafe(`
      insert into users (id, name) values (601, 'Proctor');
      update users set name = 'Xenia' where id = ${GONE};
      insert into assessments (id, user_id, organization_id, product_id, certified_at)
        values (80, ${GONE}, 10, 1, '2026-03-01Z');
      insert into assessment_parts (id, assessment_id, position, proctor_id) values (80, 80, 0, 601)`)
    expect(await idsOf(database.sql, 'export_records')).toEqual([40, 50])
    expect(await importLines(database.sql, ...REFERENCED, removal('user', 601))).toMatchObject({
      loaded: true,
    })
    expect(await idsOf(database.sql, 'assessments')).toEqual([40, 50])
    const [row] = await database.sql`select name from users where id = ${GONE}`
    expect(row).toEqual({ name: 'Erased person' })
  })

  test('leaves out an assessment of the person with all its parts, also if the parts are bad', async () => {
    const people = {
      'organizations.csv': 'id,name\n10,A\n',
      'products.csv': 'id,name\n1,B\n',
      'users.csv': csvOf('users.csv', '501,Ana', '600,Xenia', '77,Pat'),
    }
    const assessments = 'id,user_id,organization_id,product_id,certified_at,legacy_record,proctor_id'
    const row = (id: number, user: number) => `${id},${user},10,1,2026-03-01,,\n`
    const parts = (rows: string) => `assessment_id,id,position,name,certified_at,proctor_id,deleted\n${rows}`
    const rowsOf = (of: number, rest: string) =>
      `${of},${of + 1},1,A,2026-03-01,77,\n${of},${of + 2},${rest}\n`
    const files = {
      ...people,
      'assessments.csv': `${assessments}\n${row(80, 600)}${row(90, 501)}`,
      'assessment_parts.csv': parts(rowsOf(80, '2,B,2026-03-01,600,') + rowsOf(90, '2,B,2026-03-01,600,')),
    }
    await erase(GONE)
    const left = { loaded: true, rejected: 0, erased: { people: 1, lines: 4 } }
    for (const sync of [undefined, { count: 0 }])
      expect(await loadFiles(files, sync && { sync })).toMatchObject(left)
    expect(await partsOf(database.sql)).toEqual({ 90: [91, 92] })

    const bad = parts('80,81,1,A,yesterday,77,\n')
    const rejects: Reject[] = []
    const withBad = { ...files, 'assessment_parts.csv': bad + rowsOf(90, '2,B,2026-03-01,600,') }
    const onReject = (reject: Reject) => void rejects.push(reject)
    expect(await loadFiles(withBad, { onReject })).toMatchObject({ loaded: true, rejected: 0 })
    expect(rejects).toEqual([])
  })
})

describe('a feed after an erasure', () => {
  const database = useDatabase()
  const platform = usePlatform()

  test('leaves the person out of every round, and later rounds succeed', async () => {
    const first = await round(database.sql, platform.url)
    const [most] = await database.sql<{ id: string; count: string }[]>`
      select user_id as id, count(*) from assessments
      where id in (select assessment_id from assessment_parts group by 1 having count(*) > 1)
      group by 1 order by 2 desc, 1 limit 1`
    if (!most || !first.loaded) throw new Error('nobody has an assessment of several parts')
    await erasePerson(database.sql, most.id, { dryRun: false, onWait: () => {} })
    await platform.sql`update people set family = 'Neu' where person_no = ${most.id}`
    await platform.sql`update observations set finished_at = finished_at where teacher_no = ${most.id}`
    for (const isFull of [false, true]) {
      const again = await round(database.sql, platform.url, { isFull })
      expect(again).toMatchObject({ loaded: true, rejected: 0, erased: { people: 1 } })
      expect(again.since === '-infinity').toBe(isFull)
      expect(again.loaded && again.summary.assessments).toMatchObject({ inserted: 0, deleted: 0 })
    }
    expect(await database.sql`select from assessments where user_id = ${most.id}`).toBeEmpty()
    expect(await staleRecords(database.sql)).toBeEmpty()
  })
})
