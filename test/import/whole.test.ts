import { afterAll, describe, expect, test } from 'bun:test'
import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { Failure } from '../../src/errors.ts'
import { importSource } from '../../src/import/import.ts'
import { ndjson } from '../../src/import/ndjson.ts'
import type { ImportResult } from '../../src/import/result.ts'
import { openSource } from '../../src/import/source.ts'
import { cleanUp, emptyFolder } from '../support/executable.ts'
import { assessment, educator, ndjsonOf, organization, REFERENCED, range } from '../support/fixtures.ts'
import { everything, idsOf, importLines, importText, problems, useDatabase } from '../support/import.ts'
import { NO_JSON } from '../support/wordings.ts'

afterAll(cleanUp)

const TWO = [organization(1), organization(2)]
const end = (lines: unknown) => ({ type: 'end', lines })
const sync = { percent: 100 }

describe('an import', () => {
  const database = useDatabase()

  const load = (lines: (object | string)[], options: Parameters<typeof importText>[2] = {}) =>
    importText(database.sql, ndjsonOf(lines), options)

  /** The reason why an import loads nothing. Checks that the database is unchanged. */
  async function refusal(importing: () => Promise<ImportResult>): Promise<string> {
    const before = await everything(database.sql)
    const error = await importing().catch((error: Error) => error)
    expect(await everything(database.sql)).toEqual(before)
    return error instanceof Failure ? error.message : `no failure: ${JSON.stringify(error)}`
  }

  test.each<[string, (object | string)[]]>([
    ['no line', []],
    ['blank lines', ['', ' \r']],
    ['an end line', [end(0)]],
  ])('of only %s fails', async (_, lines) => {
    await importLines(database.sql, ...TWO)
    expect(await refusal(() => load(lines))).toBe('nothing was loaded: there are no rows in the data')
    expect(await refusal(() => load(lines, { sync }))).toMatch(/no rows/)
  })

  test('does not count the end line as a record, and accepts blank lines after it', async () => {
    expect(await load([TWO[0] as object, '', TWO[1] as object, end(2), '', ' '])).toMatchObject({
      loaded: true,
      lines: 2,
    })
    expect(await idsOf(database.sql, 'organizations')).toEqual([1, 2])
  })

  test.each<[string, object[], string]>([
    ['a wrong number', [...TWO, end(3)], 'line 3: the end line must be {"type":"end","lines":2}'],
    ['no number', [...TWO, end('2')], 'line 3: the end line must be {"type":"end","lines":2}'],
    ['lines after it', [...TWO, end(2), organization(3)], 'line 4: lines follow the end line'],
    ['a second end line', [...TWO, end(2), end(3)], 'line 4: lines follow the end line'],
  ])('fails if the end line has %s, with --rejects too', async (_, lines, message) => {
    const expected = `nothing was loaded: the data ${message}; is the source whole?`
    expect(await refusal(() => load(lines))).toBe(expected)
    expect(await refusal(() => load(lines, { onReject: () => {} }))).toBe(expected)
  })

  test('of a pipe that says nothing more fails after its time', async () => {
    const path = join(emptyFolder(), 'pipe')
    Bun.spawnSync(['mkfifo', path])
    const pipe = openSync(path, 'r+')
    writeSync(pipe, ndjsonOf(TWO))
    expect(await refusal(() => importSource(database.sql, openSource(path, 100), () => {}))).toBe(
      `nothing was loaded: ${path} sent nothing for ten minutes: check the program that writes it, and run both again`,
    )
    closeSync(pipe)
  })

  test('of several gzip files in one needs the end line', async () => {
    const gzipped = (...parts: object[][]) => {
      const bytes = Buffer.concat(parts.map(lines => gzipSync(ndjsonOf(lines))))
      const chunks = (async function* () {
        yield bytes
      })()
      return importSource(database.sql, ndjson({ chunks }), () => {})
    }
    expect(await refusal(() => gzipped(TWO.slice(0, 1), TWO.slice(1)))).toBe(
      'nothing was loaded: the data is several gzip files in one, and nobody can tell whether one is missing: append {"type":"end","lines":2}',
    )
    expect(await gzipped(TWO)).toMatchObject({ loaded: true, lines: 2 })
    expect(await gzipped(TWO, [end(2)])).toMatchObject({ loaded: true, lines: 2 })
  })

  test('names the line of each byte order mark, also of a second one at the beginning', async () => {
    const [one, two] = TWO.map(line => JSON.stringify(line))
    const result = await importText(database.sql, `\ufeff\ufeff${one}\r\n${two}\r\ufeff${two}\n\ufeff\n`)
    const reason = 'begins with a byte order mark: remove the first three bytes of the line'
    expect(problems(result)).toEqual([`1: ${reason}`, `3: ${reason}`, `4: ${reason}`])
  })

  test('with --sync needs the end line, with --rejects too', async () => {
    await importLines(database.sql, ...TWO, organization(3))
    const expected =
      'nothing was loaded: --sync would remove what was cut off, and the data has no end line: is it whole? If so, append {"type":"end","lines":2}'
    expect(await refusal(() => load(TWO, { sync }))).toBe(expected)
    expect(await refusal(() => load(TWO, { sync, onReject: () => {} }))).toBe(expected)
    expect(await load(TWO)).toMatchObject({ loaded: true })
    expect(await load([...TWO, end(2)], { sync })).toMatchObject({
      summary: { organizations: { deleted: 1 } },
    })
  })

  const ALL = [...REFERENCED, ...range(100, at => assessment(at + 1000))]
  const whole = ndjsonOf([...ALL, end(ALL.length)])

  test.each([
    ['at the end of a line', whole.lastIndexOf('\n', whole.length * 0.92) + 1],
    ['within the end line', whole.length - 3],
  ])('with --sync removes nothing if the file is cut off %s', async (_, length) => {
    await load(ALL)
    const most = { percent: 10 }
    const onReject = () => {}
    const cut = () => importText(database.sql, whole.slice(0, length), { sync: most, onReject })
    expect(await refusal(cut)).toContain('the data has no end line')
    expect(await importText(database.sql, whole, { sync: most })).toMatchObject({ loaded: true })
    expect(await idsOf(database.sql, 'assessments')).toHaveLength(100)
  })

  const bad = (count: number, of: number) => [
    ...range(of - count, at => educator(at + 1)),
    ...Array(count).fill('nonsense'),
  ]
  test.each<[string, object, [number, number], [number, number]]>([
    ['1 % of the lines by default', {}, [20, 2000], [21, 2000]],
    ['ten of a few lines', {}, [10, 12], [11, 12]],
    ['a given share', { maxRejected: { percent: 50 } }, [30, 60], [31, 60]],
    ['a given number', { maxRejected: { count: 3 } }, [3, 400], [4, 400]],
  ])('with --rejects fails if it rejects more than %s', async (_, limit, allowed, refused) => {
    const options = { onReject: () => {}, ...limit }
    expect(await load(bad(...allowed), options)).toMatchObject({ loaded: true, rejected: allowed[0] })
    const before = await everything(database.sql)
    const [count, of] = refused
    const result = await load(bad(count, of), options)
    expect(result).toMatchObject({ loaded: false, total: count })
    if (!result.loaded) expect(result.problems[0]).toEqual({ line: of - count + 1, reason: NO_JSON })
    expect(await everything(database.sql)).toEqual(before)
  })
})
