import { afterAll, describe, expect, test } from 'bun:test'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { axport, cleanUp, emptyFolder, errorLine, shell, start } from '../support/executable.ts'
import { assessment, ndjsonOf, organization, proctor } from '../support/fixtures.ts'
import { importText } from '../support/import.ts'
import { until } from '../support/until.ts'
import { NO_JSON } from '../support/wordings.ts'
import { TWO, useImports } from './use-imports.ts'

afterAll(cleanUp)

const LOADED = { code: 0, stdout: expect.stringMatching(/^loaded 2 lines\n/), stderr: '' }

describe('axport import', () => {
  const { database, cwd, options, run, fileOf, names } = useImports()

  test('loads standard input from a pipe or a file, plain or gzipped', async () => {
    fileOf('two.gz', gzipSync(TWO))
    const file = join(cwd, fileOf('two', TWO))
    expect(await axport(['import', '-'], { ...options(), stdin: { text: TWO } })).toEqual(LOADED)
    expect(await axport(['import', '-'], { ...options(), stdin: { file } })).toEqual(LOADED)
    for (const line of ['cat two.gz | "$AXPORT" import -', 'gzip -dc two.gz | "$AXPORT" import -'])
      expect(await shell(line, options())).toEqual(LOADED)
  })

  test('loads a folder of CSV files, and notes the ignored files and columns', async () => {
    const csv = join(cwd, 'csv')
    mkdirSync(csv)
    writeFileSync(join(csv, 'organizations.csv'), '\ufeffid,name\r\n12,"Lake\r\nside"\r\n')
    writeFileSync(join(csv, 'notes.txt'), '')
    expect(await run(csv)).toMatchObject({ code: 0, stderr: 'note: ignored notes.txt\n' })
    expect(await names()).toEqual(['Lake\r\nside'])
  })

  test('notes each unknown field once', async () => {
    const typos = [organization(12), proctor(77), proctor(78)].map(line => ({ ...line, firstname: 'x' }))
    const file = fileOf(
      'typos',
      ndjsonOf([...typos, { ...assessment(9), proctor_id: null, parts: [{ id: 5, day: 'x' }] }]),
    )
    const notes = [
      'unknown in organization lines, and ignored: firstname',
      'unknown in user lines, and ignored: firstname',
      'unknown in parts, and ignored: day',
    ]
    const { code, stdout, stderr } = await run('--json', file)
    expect(JSON.parse(stdout)).toMatchObject({ loaded: false, bad_lines: 1, notes })
    expect(code).toBe(1)
    expect(stderr.split('\n').slice(0, 3)).toEqual(notes.map(note => `note: ${note}`))
    await run('--rejects', 'bad', file)
    expect(await names()).toEqual(['Organization 12'])
  })

  test('prints with --json the counts, the reasons, the notes and the error', async () => {
    await importText(database.sql, TWO)
    const json = async (...args: string[]) => JSON.parse((await run('--json', ...args)).stdout)
    const file = fileOf(
      'bad',
      ndjsonOf(['nope', { ...organization(12), colour: 'red' }, { type: 'end', lines: 2 }]),
    )
    const notes = [
      'unknown in organization lines, and ignored: colour',
      'nothing but parts was removed: line 1 is bad and does not say whose it is',
    ]
    const result = await json('--rejects', 'out', '--sync', file)
    const reasons = [{ reason: NO_JSON, count: 1 }]
    expect(result).toMatchObject({ loaded: true, lines: 2, rejected: 1, reasons, rejects: 'out', notes })
    expect(await json(file)).toMatchObject({
      loaded: false,
      error:
        'nothing was loaded: 1 bad line of 2, correct and import again, or load the others with --rejects FILE',
      lines: 2,
      bad_lines: 1,
      reasons,
      notes: notes.slice(0, 1),
    })
    const end = fileOf(
      'end',
      ndjsonOf([
        { ...organization(12), colour: 'red' },
        { type: 'end', lines: 9 },
      ]),
    )
    const error = expect.stringMatching(
      /^nothing was loaded: end line 2: the end line must be {"type":"end","lines":1}/,
    )
    expect(await json(end)).toEqual({ loaded: false, error, notes: notes.slice(0, 1) })
    expect(await json('nowhere')).toMatchObject({ loaded: false, error: expect.stringContaining('nowhere') })
  })

  test('lists the first hundred bad lines and counts the others', async () => {
    const { stderr } = await run(fileOf('many', 'nope\n'.repeat(250)))
    const lines = stderr.trimEnd().split('\n')
    const expected = Array.from({ length: 100 }, (_, index) => `line ${index + 1}: ${NO_JSON}`)
    expect(lines.slice(0, 100)).toEqual(expected)
    expect(lines.slice(100, -1).join()).toMatch(/150 more/)
    expect(lines.at(-2)).toBe(`by reason: 250 × ${NO_JSON}`)
    expect(lines.at(-1)).toMatch(/250 bad lines of 250/)
  })

  test('writes bad lines to the file of --rejects, readable only by its owner, and loads the others', async () => {
    const rejects = join(cwd, 'rejects.ndjson')
    const { code, stdout } = await run('--rejects', rejects, fileOf('bad', `nonsense\n${TWO}`))
    expect([code, stdout.split('\n')[0]]).toEqual([0, `loaded 2 lines, 1 rejected (written to ${rejects})`])
    expect(readFileSync(rejects, 'utf8')).toBe(`{"line":1,"reason":"${NO_JSON}","text":"nonsense"}\n`)
    expect(statSync(rejects).mode & 0o777).toBe(0o600)
  })

  test('loads nothing if --rejects would reject more lines than allowed, and lists these lines', async () => {
    const file = fileOf('bad', `${'nonsense\n'.repeat(11)}${TWO}`)
    const rejects = fileOf('kept.ndjson', 'of the last time')
    const { code, stderr } = await run('--rejects', rejects, file)
    const lines = stderr.trimEnd().split('\n')
    expect([code, lines.length, lines[0], lines.at(-1)]).toEqual([
      1,
      12,
      `line 1: ${NO_JSON}`,
      `axport: nothing was loaded: 11 bad lines of 13, more than may be left out: check the source; to leave them out: axport import --max-rejected 11 --rejects ${rejects} ${file}`,
    ])
    expect(readFileSync(join(cwd, rejects), 'utf8')).toBe('of the last time')
    for (const limit of ['11', '90%'])
      expect(await run('--rejects', rejects, '--max-rejected', limit, file)).toMatchObject({ code: 0 })
  })

  test('removes rows with --sync only if the last line of a file or a pipe confirms that it is complete', async () => {
    fileOf('two', ndjsonOf([organization(12), organization(13), { type: 'end', lines: 2 }]))
    const pipe = (tail: string) =>
      shell(`${tail} two | "$AXPORT" import --sync --max-removed 100% -`, options())
    expect((await pipe('cat')).code).toBe(0)
    expect(errorLine(await pipe('head -n 1'), 1)).toContain(', and standard input has no end line: ')
    for (const file of [
      fileOf('cut', ndjsonOf([organization(12)])),
      fileOf('cut.gz', gzipSync(ndjsonOf([organization(12)]))),
    ])
      expect(errorLine(await run('--sync', '--max-removed', '100%', file), 1)).toContain(
        `, and ${file} has no end line: `,
      )
    expect(errorLine(await pipe('tail -n 2'), 1)).toBe(
      'nothing was loaded: standard input line 2: the end line must be {"type":"end","lines":1}; is the source whole?',
    )
    expect(errorLine(await shell('"$AXPORT" import - < /dev/null', options()), 1)).toEndWith(
      'no rows in standard input',
    )
    expect(await names()).toEqual(['Organization 12', 'Organization 13'])
    const append = `echo '{"type":"end","lines":1}' | gzip >> cut.gz`
    expect(
      await shell(`${append} && "$AXPORT" import --sync --max-removed 100% cut.gz`, options()),
    ).toMatchObject({
      code: 0,
    })
    expect(await names()).toEqual(['Organization 12'])
  })

  test('reports in JSON that all lines were loaded even if the file of rejects cannot be renamed', async () => {
    const running = await start(['import', '--json', '--rejects', 'taken', '-'], {
      ...options(),
      stdin: 'open',
    })
    void running.stdin.write(TWO)
    await until('it reads', async () => {
      const { count } = await database.sql`
        select from pg_stat_activity where datname = current_database() and state = 'idle in transaction'`
      return count > 0
    })
    mkdirSync(join(cwd, 'taken'))
    running.stdin.end()
    const { code, stdout } = await running.finished
    const error = 'all was loaded, and cannot write taken: it is a folder; the rejects stay in taken.draft'
    expect([code, JSON.parse(stdout)]).toMatchObject([
      1,
      { loaded: true, error, organizations: { inserted: 1 } },
    ])
    expect(await names()).toEqual(['Lakeside'])
  })

  test.each([
    ['a file that is not there', () => 'nowhere', /^cannot read nowhere: there is no such file$/],
    ['a file below a file', () => `${fileOf('plain', TWO)}/x`, /^cannot read plain\/x: /],
    ['a folder without CSV files', () => emptyFolder(), /^the folder .* has none of organizations.csv, /],
    [
      'a truncated gzip',
      () => fileOf('cut', gzipSync(TWO).subarray(0, 40)),
      /^cut line 1: the gzip data is damaged/,
    ],
    [
      'a zip',
      () => fileOf('export.zip', 'PK\x03\x04 and the files'),
      /^export\.zip is a zip: unzip it, and import the folder$/,
    ],
  ])('reports %s in one line', async (_, path, message) => {
    expect(errorLine(await run(path()), 1)).toMatch(message)
  })

  test('refuses a zip or a folder on standard input in one line', async () => {
    const file = join(cwd, fileOf('a.zip', 'PK\x03\x04 and the files'))
    expect(errorLine(await axport(['import', '-'], { ...options(), stdin: { file } }), 1)).toBe(
      'standard input is a zip: unzip it, and import the folder',
    )
    expect(errorLine(await shell('"$AXPORT" import - < .', options()), 1)).toMatch(
      /^(standard input is a folder|cannot read standard input)/,
    )
  })
})
