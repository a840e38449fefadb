import { afterAll, describe, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describePlace } from '../../src/import/record.ts'
import { type Reject, RejectsFile } from '../../src/import/rejects.ts'
import { assessment, EDUCATOR, educator, multiPart, PEOPLE, PROCTOR, removal } from '../support/fixtures.ts'
import { idsOf, importLines, importWith, staleRecords, useDatabase } from '../support/import.ts'
import { BACKENDS_OF_TIER } from '../support/service.ts'

const missing = (column: string, what: string) =>
  `${column}: ${what} is neither in the file nor in the database`

test('the file of rejects is begun anew where a killed process of the same number has left its draft', () => {
  const folder = mkdtempSync(join(tmpdir(), 'axport-rejects-'))
  const path = join(folder, 'bad.ndjson')
  writeFileSync(`${path}.${process.pid}.tmp`, 'left behind')
  const file = new RejectsFile(path)
  file.discard()
  file.write({ line: 1, reason: 'late' })
  expect(readdirSync(folder)).toEqual([])
  rmSync(folder, { recursive: true })
})

describe.each(BACKENDS_OF_TIER)('an import into %s that leaves bad lines out', backend => {
  const database = useDatabase(backend)

  async function load(...lines: (object | string)[]) {
    const rejects: Reject[] = []
    const texts = lines.map(line => (typeof line === 'string' ? line : JSON.stringify(line)))
    const result = await importWith(database.sql, { onReject: reject => void rejects.push(reject) }, ...texts)
    if (!result.loaded) throw new Error('nothing was loaded')
    expect(result.rejected).toBe(rejects.length)
    expect(await staleRecords(database.sql)).toBeEmpty()
    return { result, rejects, texts, reasons: rejects.map(one => `${describePlace(one)}: ${one.reason}`) }
  }

  test('loads the others, and tells each bad one with its reason and its text', async () => {
    const { result, rejects, texts } = await load(
      ...PEOPLE,
      'nonsense',
      assessment(10),
      '{"type":"user","id":6}',
      assessment(11),
    )
    expect(rejects).toEqual([
      { line: 5, reason: 'not valid JSON', text: texts[4] as string },
      { line: 7, reason: 'name is missing, and user 6 is new', text: texts[6] as string },
    ])
    expect(await idsOf(database.sql, 'assessments')).toEqual([10, 11])
    expect(result).toMatchObject({ lines: 8, rejected: 2, summary: { assessments: { inserted: 2 } } })
  })

  test('leaves out what refers to a line that is left out', async () => {
    const { reasons } = await load(
      ...PEOPLE,
      educator(5, { name: '' }),
      assessment(10, { user_id: 5 }),
      assessment(11, { proctor_id: 5 }),
      assessment(12),
    )
    expect(reasons).toEqual([
      'line 5: name is blank',
      `line 6: ${missing('user_id', 'user 5')}`,
      `line 7: ${missing('proctor_id', 'user 5')}`,
    ])
    expect(await idsOf(database.sql, 'assessments')).toEqual([12])
  })

  test('keeps what refers to a row of the database whose new line is bad', async () => {
    await importLines(database.sql, ...PEOPLE)
    const { reasons } = await load(educator(EDUCATOR, { name: 5 }), assessment(10))
    expect(reasons).toEqual(['line 1: name must be a string'])
    expect(await idsOf(database.sql, 'assessments')).toEqual([10])
  })

  test('goes on until what is left fits together', async () => {
    await importLines(database.sql, ...PEOPLE, multiPart(10, [11]), multiPart(20, [21]), multiPart(30, [31]))
    // 30 cannot be loaded; so it keeps part 31, which 20 cannot have; so it keeps 21, which 10 cannot have.
    const { reasons } = await load(
      multiPart(10, [21]),
      multiPart(20, [31]),
      multiPart(30, [32], { user_id: 99 }),
      multiPart(40, [11]),
      removal('user', 7),
    )
    expect(reasons).toEqual([
      'line 1: part 21 is also a part of assessment 20',
      'line 2: part 31 is also a part of assessment 30',
      `line 3: ${missing('user_id', 'user 99')}`,
      'line 4: part 11 is also a part of assessment 10',
    ])
    expect(await idsOf(database.sql, 'assessment_parts')).toEqual([11, 21, 31])
  })

  test('does not delete what is still needed', async () => {
    await importLines(database.sql, ...PEOPLE, educator(3), assessment(10, { user_id: 3 }))
    const { reasons } = await load(removal('user', 3), assessment(10, { user_id: 99 }), educator(4))
    expect(reasons).toEqual([
      'line 1: user 3 cannot be deleted: assessment 10 needs it',
      `line 2: ${missing('user_id', 'user 99')}`,
    ])
    expect(await idsOf(database.sql, 'users')).toEqual([3, 4, PROCTOR, EDUCATOR])
  })

  test('gives all reasons against a line at once, and the place of the other line', async () => {
    const { reasons } = await load(
      ...PEOPLE,
      removal('user', 5),
      assessment(10, { user_id: 5, product_id: 9 }),
    )
    expect(reasons).toEqual([
      `line 6: ${missing('product_id', 'product 9')}; user_id: user 5 is deleted by line 5`,
    ])
  })

  test('tells lines without their text that are too long, and any other with every character of it', async () => {
    const strange = '{"name":"a\u0000b \\ud800 \u2028 \\" 👩‍🏫"\t}'
    const { rejects } = await load('x'.repeat(1_100_000), strange)
    expect(rejects).toEqual([
      { line: 1, reason: 'longer than 1048576 characters', text: undefined },
      { line: 2, reason: 'not valid JSON', text: strange },
    ])
  })
})

describe('the file of rejects', () => {
  const folder = mkdtempSync(join(tmpdir(), 'axport-rejects-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'rejects.ndjson')
  const reject = { line: 3, reason: 'not valid JSON', text: 'x' }

  test('comes into being when it is kept, as NDJSON, readable for its owner alone', () => {
    const file = new RejectsFile(path)
    file.write(reject)
    file.write({ file: 'users.csv', line: 4, reason: 'longer', text: undefined })
    expect(existsSync(path)).toBeFalse()
    file.keep()
    file.discard()
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readFileSync(path, 'utf8')).toBe(
      '{"line":3,"reason":"not valid JSON","text":"x"}\n{"file":"users.csv","line":4,"reason":"longer","text":null}\n',
    )
  })

  test('of an import that fails is not there, and the one before stays', () => {
    writeFileSync(path, 'before')
    const file = new RejectsFile(path)
    file.write(reject)
    file.discard()
    expect(readFileSync(path, 'utf8')).toBe('before')
    expect(readdirSync(folder)).toEqual(['rejects.ndjson'])
  })

  test('is refused where there can be none, or something else is', () => {
    expect(() => new RejectsFile(join(folder, 'none', 'x'))).toThrow(/^cannot write the rejects to /)
    expect(() => new RejectsFile(folder)).toThrow('it is not a file')
    expect(() => new RejectsFile('/dev/null')).toThrow('it is not a file')
  })
})
