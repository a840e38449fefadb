import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { gzipSync } from 'node:zlib'
import type { Sql } from 'postgres'
import { importSource } from '../../src/import/import.ts'
import type { Reject } from '../../src/import/rejects.ts'
import type { ImportOptions, ImportResult } from '../../src/import/result.ts'
import { openSource } from '../../src/import/source.ts'
import { describePlace } from '../../src/import/source-rows.ts'
import { cleanUp } from '../support/executable.ts'
import { assessment, educator, multiPart, organization, part, proctor, product } from '../support/fixtures.ts'
import { everything, importLines, partsOf, useDatabase } from '../support/import.ts'
import { missing, NO_ID } from '../support/wordings.ts'
import { csvOf, FILES, folderOf } from './csv-files.ts'

/** The rows of FILES as NDJSON lines. */
const LINES = [
  organization(10, 'Lakeside District'),
  product(1, 'Reading Observation'),
  educator(501, {
    name: 'Ruiz, Ana M.',
    first_name: 'Ana',
    last_name: 'Ruiz',
    email: 'ana@example.org',
    seid: '0012',
  }),
  proctor(77, 'Pat'),
  { ...proctor(78, 'Petra'), record_status: 'archived' },
  assessment(9001, { certified_at: '2026-03-01T18:20:00Z' }),
  multiPart(
    9100,
    [
      part(9101, { name: 'Part 1', certified_at: '2026-03-01' }),
      part(9102, { name: 'Part 2', certified_at: '2026-03-09T05:10:00Z', proctor_id: 78 }),
    ],
    { certified_at: '2026-03-09T05:10:00Z', legacy_record: true },
  ),
]

afterAll(cleanUp)

const load = async (sql: Sql, path: string, options: ImportOptions = {}): Promise<ImportResult> =>
  importSource(sql, openSource(path), () => {}, options)

const reasons = (result: ImportResult) => {
  if (result.loaded) throw new Error('the import was loaded')
  return result.problems.map(problem => `${describePlace(problem)}: ${problem.reason}`)
}

describe('imported CSV files', () => {
  const database = useDatabase()
  const loadFiles = (files: Record<string, string>, options?: ImportOptions) =>
    load(database.sql, folderOf(files), options)
  const parts = () => partsOf(database.sql)
  beforeEach(async () => void (await loadFiles(FILES)))

  test('load the same rows as NDJSON does', async () => {
    const { sql } = database
    const before = await everything(sql)
    expect(await importLines(sql, ...LINES)).toMatchObject({ loaded: true, lines: 7 })
    expect(await loadFiles(FILES)).toMatchObject({ loaded: true, lines: 9 })
    expect(await everything(sql)).toEqual(before)
  })

  test('may have a byte order mark, CRLF, quoted line breaks, spaces, unknown columns, and capitals in headers', async () => {
    const { sql } = database
    const odd = Object.fromEntries(
      Object.entries(FILES).map(([name, text]) => [name, `\ufeff${text.replaceAll('\n', '\r\n')}`]),
    )
    expect(await loadFiles(odd)).toMatchObject({ summary: { users: { unchanged: 3 } } })
    await loadFiles({
      'users.csv':
        ' ID ,colour,Name,First_name,last_name,email,seid,record_status\n 501 ,red,"Ana\n""Anita"", Ruiz",,,,,\n\n77,,x,,,,,',
    })
    expect(await sql`select id::int, name from users order by id`).toEqual([
      { id: 77, name: 'x' },
      { id: 78, name: 'Petra' },
      { id: 501, name: 'Ana\n"Anita", Ruiz' },
    ] as never)
  })

  test('may mix line endings, in cells too, and rejects name the right line', async () => {
    const { sql } = database
    const header = csvOf('users.csv').trim()
    const users = `${header}\r501,"a\r\nb",,,,,\n77,c,,,,,\r\n\n\r\n78,"d\re\nf",,,,,\r`
    await loadFiles({ 'users.csv': users })
    expect(await sql`select id::int, name from users order by id`).toEqual([
      { id: 77, name: 'c' },
      { id: 78, name: 'd\re\nf' },
      { id: 501, name: 'a\r\nb' },
    ] as never)
    const rejects: string[] = []
    const onReject = (reject: Reject) => void rejects.push(`${describePlace(reject)}: ${reject.text}`)
    await loadFiles({ 'users.csv': `${users}x,"g\r\n\r\nh",,,,,\r\ny,i,,,,,\r\n` }, { onReject })
    expect(rejects).toEqual(['users.csv line 10: x,"g\r\n\r\nh",,,,,', 'users.csv line 13: y,i,,,,,'])
    await expect(loadFiles({ 'users.csv': `${users}5,"x"y\n` })).rejects.toThrow(
      'users.csv line 10: the quote',
    )
  })

  test('may be gzipped and have capitals in their names', async () => {
    const { sql } = database
    const before = await everything(sql)
    const others = Object.fromEntries(
      Object.entries(FILES).map(([name, text], index) =>
        index % 2 ? [name.toUpperCase(), text] : [`${name}.${index ? 'GZ' : 'gz'}`, gzipSync(text)],
      ),
    )
    expect(await load(sql, folderOf(others))).toMatchObject({ loaded: true, lines: 9 })
    expect(await everything(sql)).toEqual(before)
    expect(
      reasons(await load(sql, folderOf({ 'USERS.csv.gz': gzipSync(csvOf('users.csv', '1,')) }))),
    ).toEqual(['USERS.csv.gz line 2: name is missing'])
  })

  test('with --sync remove nothing if a file does not end in a line break', async () => {
    const { sql } = database
    const before = await everything(sql)
    const sync = { sync: { percent: 100 } }
    const cut = { ...FILES, 'assessments.csv': FILES['assessments.csv'].split('\n').slice(0, 2).join('\n') }
    const gzipped = { ...FILES, 'users.csv': '', 'users.csv.gz': gzipSync(FILES['users.csv'].trimEnd()) }
    const { 'users.csv': _, ...named } = gzipped
    const refusal = (names: string) => `, and there is no line break at the end of ${names}: `
    await expect(load(sql, folderOf(cut), sync)).rejects.toThrow(refusal('assessments.csv'))
    await expect(load(sql, folderOf(named), sync)).rejects.toThrow(refusal('users.csv.gz'))
    expect(await everything(sql)).toEqual(before)
    const endings = ['\n', '\r\n', '\r', '\n\n\r\n']
    for (const ending of endings) {
      const ended = { ...FILES, 'users.csv': FILES['users.csv'].trimEnd() + ending }
      expect(await loadFiles(ended, { sync: { percent: 0 } })).toMatchObject({ loaded: true })
    }
  })

  test('leave the rows of a type without a file unchanged', async () => {
    const renamed = { 'organizations.csv': 'id,name\n10,Seaside\n' }
    const result = await loadFiles(renamed, { sync: { percent: 0 } })
    expect(result).toMatchObject({
      loaded: true,
      summary: { organizations: { updated: 1 }, users: { unchanged: 0 } },
    })
    expect(await parts()).toEqual({ 9001: [9001], 9100: [9101, 9102] })
  })

  test('are refused for an assessment that has neither a proctor nor a row in assessment_parts.csv', async () => {
    const before = await everything(database.sql)
    const alone = { 'assessments.csv': FILES['assessments.csv'] }
    const partless = { ...FILES, 'assessment_parts.csv': csvOf('assessment_parts.csv') }
    for (const files of [alone, partless])
      expect(reasons(await loadFiles(files))).toEqual([
        'assessments.csv line 3: proctor_id is missing, and there is no part in assessment_parts.csv',
      ])
    expect(await everything(database.sql)).toEqual(before)
  })

  test('replace the stored parts of each assessment that they have parts for', async () => {
    const others = csvOf(
      'assessment_parts.csv',
      '9100,9103,,Part 3,2026-03-09,77',
      '9001,9002,,A,2026-03-01,77',
      '9100,9101,,Part 1,2026-03-01,77',
    )
    expect(await loadFiles({ 'assessment_parts.csv': others })).toMatchObject({
      summary: { assessments: { inserted: 0, updated: 2, unchanged: 0 } },
    })
    expect(await parts()).toEqual({ 9001: [9002], 9100: [9103, 9101] })
    await loadFiles({ 'assessment_parts.csv': csvOf('assessment_parts.csv', '9100,9100,,,,77') })
    expect(await parts()).toEqual({ 9001: [9002], 9100: [9100] })
  })

  test('delete the rows whose column deleted is true', async () => {
    const result = await loadFiles({
      'assessments.csv':
        'deleted,id,user_id,organization_id,product_id,certified_at,legacy_record,proctor_id\n' +
        'True,9001,,,,,,\nt,404,,,,,,\nf,9100,501,10,1,2026-03-09 05:10:00+00,1,\n',
      'assessment_parts.csv':
        'assessment_id,id,position,name,certified_at,proctor_id,deleted\n9100,9102,,,,,1\n9100,9101,,Part 1,2026-03-01,77,0\n',
    })
    expect(result).toMatchObject({ loaded: true, summary: { assessments: { updated: 1, deleted: 1 } } })
    expect(await parts()).toEqual({ 9100: [9101] })
  })

  test('may repeat a row, but are refused if two rows for one id differ', async () => {
    const users = FILES['users.csv']
    const partRows = FILES['assessment_parts.csv']
    const twice = {
      'users.csv': `${users}77,Pat,,,,,\n`,
      'assessment_parts.csv': `${partRows}${partRows.split('\n')[1]}`,
    }
    expect(await loadFiles(twice)).toMatchObject({ loaded: true, summary: { users: { unchanged: 3 } } })
    const differing = {
      'users.csv': `${users}77,Pia,,,,,\n`,
      'assessment_parts.csv': `${partRows}9100,9102,2,Part 0,2026-03-09,78\n9001,9101,1,Part 1,2026-03-01,77\n`,
    }
    expect(reasons(await loadFiles(differing))).toEqual([
      'users.csv line 3: user 77 differs from users.csv line 5',
      'users.csv line 5: user 77 differs from users.csv line 3',
      'assessment_parts.csv line 2: part 9102 differs from assessment_parts.csv line 4',
      'assessment_parts.csv line 3: part 9101 differs from assessment_parts.csv line 5',
      'assessment_parts.csv line 4: part 9102 differs from assessment_parts.csv line 2',
      'assessment_parts.csv line 5: part 9101 differs from assessment_parts.csv line 3',
    ])
  })

  test('give a field its default by an empty cell, and are refused if a required cell is empty', async () => {
    const { sql } = database
    await loadFiles({ 'users.csv': csvOf('users.csv', '501,Ana') })
    const [ana] = await sql`
      select name, first_name, last_name, email, seid, record_status from users where id = 501`
    expect(Object.values({ ...ana })).toEqual(['Ana', '', '', '', null, 'active'])
    expect(reasons(await loadFiles({ 'users.csv': csvOf('users.csv', '501,', '5,') }))).toEqual([
      'users.csv line 2: name is missing',
      'users.csv line 3: name is missing',
    ])
  })

  test('are refused with the file, the line and the reason for each bad row', async () => {
    const { sql } = database
    const before = await everything(sql)
    const result = await loadFiles({
      'users.csv': `${csvOf('users.csv', '1,"a\nb"', 'x,c', '3,d,,,,,gone')}4,e\n`,
      'assessments.csv':
        'id,user_id,organization_id,product_id,certified_at,legacy_record,proctor_id\n' +
        '1,99,10,1,2026-03-01,,77\n2,501,10,1,yesterday,,77\n3,501,10,1,2026-03-01,yes,77\n4,501,10,1,2026-03-01,,\n9100,501,10,1,2026-03-01,,77\n',
      'assessment_parts.csv':
        'assessment_id,id,position,name,certified_at,proctor_id,deleted\n404,5,,x,2026-03-01,77,\n' +
        '9001,6,,,2026-03-01,77,\n9001,9001,,x,2026-03-01,77,\n9100,7,,x,2026-03-01,77,\n9001,8,,,,,true\n',
    })
    expect(reasons(result)).toEqual([
      `users.csv line 4: id ${NO_ID}`,
      'users.csv line 5: record_status must be active or archived',
      'users.csv line 6: has 2 fields where the header has 7',
      'assessments.csv line 3: certified_at must be a day as 2026-03-01, or an instant with its offset as 2026-03-01T18:20:00Z',
      'assessments.csv line 4: legacy_record must be true or false',
      'assessment_parts.csv line 3: name is missing',
      'assessment_parts.csv line 4: part 9001 has the id of the assessment itself',
      // Consequences come after causes.
      `assessments.csv line 2: ${missing('user_id', 'user 99')}`,
      'assessments.csv line 5: proctor_id is missing, and there is no part in assessment_parts.csv',
      'assessments.csv line 6: proctor_id and parts are both given: each part names its own proctor',
      `assessment_parts.csv line 2: ${missing('assessment_id', 'assessment 404')}`,
      'assessment_parts.csv line 6: no part of assessment 9001 is left: list those that it keeps, or delete it',
    ])
    expect(await everything(sql)).toEqual(before)
  })

  test('lose all rows of an assessment if one of them is rejected', async () => {
    await database.sql`truncate assessments, assessment_parts`
    const rejects: string[] = []
    const partsFile = `${FILES['assessment_parts.csv']}9100,9103,,Part 3,x,77\n`
    const result = await loadFiles(
      { ...FILES, 'assessment_parts.csv': partsFile },
      { onReject: reject => void rejects.push(`${describePlace(reject)}: ${reject.text}`) },
    )
    expect(rejects).toEqual([
      'assessments.csv line 3: 9100,501,10,1,2026-03-09T00:10:00-05:00,1,',
      'assessment_parts.csv line 2: 9100,9102,2,Part 2,2026-03-09T00:10:00-05:00,78',
      'assessment_parts.csv line 3: 9100,9101,1,Part 1,2026-03-01,77',
      'assessment_parts.csv line 4: 9100,9103,,Part 3,x,77',
    ])
    expect(result).toMatchObject({ loaded: true, rejected: 4, summary: { assessments: { inserted: 1 } } })
    expect(await parts()).toEqual({ 9001: [9001] })
  })

  const LOST = ['9100,9102,2,Part 2,2026-03-09,78,', ',9102,2,Part 2,2026-03-09,78']
  test.each(LOST)('are not loaded if a bad row of a part does not say its assessment: %s', async row => {
    const files = { 'assessment_parts.csv': FILES['assessment_parts.csv'].replace(/9100,9102,.*/, row) }
    const result = await loadFiles(files, { onReject: () => {} })
    expect(reasons(result)).toEqual([expect.stringMatching(/^assessment_parts\.csv line 2: /)])
    expect(await parts()).toEqual({ 9001: [9001], 9100: [9101, 9102] })
  })

  test('remove with --sync the parts that a file of parts no longer lists', async () => {
    const sync = { sync: { count: 1 } }
    const [header, first] = FILES['assessment_parts.csv'].split('\n')
    expect(
      await loadFiles({ ...FILES, 'assessment_parts.csv': `${header}\n${first}\n` }, sync),
    ).toMatchObject({
      summary: { assessments: { updated: 1 }, assessment_parts: { deleted: 1 } },
    })
    expect(await parts()).toEqual({ 9001: [9001], 9100: [9102] })
    expect(reasons(await loadFiles({ ...FILES, 'assessment_parts.csv': `${header}\n` }, sync))).toEqual([
      'assessments.csv line 3: proctor_id is missing, and there is no part in assessment_parts.csv',
    ])
    const { 'assessment_parts.csv': _, ...others } = FILES
    expect(reasons(await loadFiles(others, sync))).toEqual([
      'assessments.csv line 3: proctor_id is missing, and there is no part in assessment_parts.csv',
    ])
    expect(await parts()).toEqual({ 9001: [9001], 9100: [9102] })
  })

  test('are refused if all of them have only headers', async () => {
    const folder = folderOf({ 'users.csv': csvOf('users.csv'), 'products.csv': 'id,name\n' })
    await expect(load(database.sql, folder)).rejects.toThrow(`no rows in the folder ${folder}`)
  })

  test('remove with --sync the rows that a file no longer contains, for the types with a file', async () => {
    const [header, first] = FILES['assessments.csv'].split('\n')
    const fewer = { 'assessments.csv': `${header}\n${first}\n` }
    const result = await loadFiles(fewer, { sync: { count: 1 } })
    expect(result).toMatchObject({
      summary: { assessments: { deleted: 1, unchanged: 1 }, users: { deleted: 0 } },
    })
    const users = await loadFiles({ 'users.csv': csvOf('users.csv', '501,Ana') }, { sync: { percent: 100 } })
    expect(reasons(users)).toEqual([
      '--sync: user 77 cannot be deleted: assessment 9001 needs it (delete that, too, or archive the user)',
    ])
  })
})
