import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { sampleNdjson } from '../../src/sample/generate.ts'
import { axport, cleanUp, complaint, emptyFolder, executable, start } from '../support/executable.ts'
import { everything } from '../support/import.ts'
import { BACKENDS, openTestDatabase, type TestDatabase } from '../support/service.ts'
import { zipOf } from '../support/zip.ts'

setDefaultTimeout(300_000)
beforeAll(async () => void (await executable()))
afterAll(cleanUp)

const lines = '{"type":"organization","id":12,"name":"Lakeside"}\r\n{"type":"user","id":77,"name":"Pat"}\r\n'
const sample = [...sampleNdjson({ assessments: 30_000 })].join('')

describe.each(BACKENDS)('axport import into %s', backend => {
  let database: TestDatabase
  let env: Record<string, string>
  const folder = emptyFolder()
  beforeAll(async () => {
    database = await openTestDatabase(backend)
    env = { DATABASE_URL: database.url }
  })
  afterAll(() => database.close())

  const fileOf = (name: string, content: string | Uint8Array) => {
    const path = join(folder, name)
    writeFileSync(path, content)
    return path
  }
  const run = (...args: string[]) => axport(['import', ...args], { env })
  const names = async () =>
    (await database.sql<{ name: string }[]>`select name from organizations order by id`).map(
      ({ name }) => name,
    )

  test('loads a file with a byte order mark and CRLF, says what it did, and loads it again without a change', async () => {
    const file = fileOf('bom.ndjson', `\ufeff${lines}`)
    const first = await run(file)
    expect(first).toMatchObject({ code: 0, stderr: '' })
    expect(first.stdout).toBe(
      'loaded 2 lines\n               inserted  updated  unchanged  deleted\n' +
        'organizations  1         0        0          0\nproducts       0         0        0          0\n' +
        'users          1         0        0          0\nassessments    0         0        0          0\n',
    )
    const again = await run('--json', fileOf('bom.ndjson.gz', gzipSync(lines)))
    expect(JSON.parse(again.stdout)).toMatchObject({
      loaded: true,
      dry_run: false,
      lines: 2,
      rejected: 0,
      users: { inserted: 0, updated: 0, unchanged: 1, deleted: 0 },
    })
  })

  test('reads standard input', async () => {
    const { code, stdout } = await axport(['import', '-'], { env, stdin: { text: lines } })
    expect([code, stdout.split('\n')[0]]).toEqual([0, 'loaded 2 lines'])
  })

  test('refuses a zip on standard input in one line', async () => {
    const zip = fileOf('stdin.zip', zipOf({ 'users.csv': 'id,name\n' }))
    expect(complaint(await axport(['import', '-'], { env, stdin: { file: zip } }), 1)).toBe(
      'a zip can not be read from a pipe: give the name of its file',
    )
  })

  test('loads a folder and a zip of CSV files, and notes what it ignores', async () => {
    const csv = join(folder, 'csv')
    mkdirSync(csv)
    writeFileSync(join(csv, 'organizations.csv'), '\ufeffid,name\r\n12,"Lake\r\nside"\r\n')
    writeFileSync(join(csv, 'notes.txt'), '')
    expect(await run(csv)).toMatchObject({ code: 0, stderr: 'note: ignored notes.txt\n' })
    expect(await names()).toEqual(['Lake\r\nside'])
    expect(
      (await run(fileOf('a.zip', zipOf({ 'x/organizations.csv': 'id,name\n12,Lakeside\n' })))).code,
    ).toBe(0)
    expect(await names()).toEqual(['Lakeside'])
  })

  test('changes nothing in a dry run', async () => {
    const { stdout } = await run(
      '--dry-run',
      fileOf('dry.ndjson', '{"type":"organization","id":12,"name":"x"}'),
    )
    expect(stdout).toMatch(
      /^would have loaded 1 line\n.*\norganizations {2}0 +1 +0 +0\n(?:.*\n)*nothing was changed: this was a dry run\n$/,
    )
    expect(await names()).toEqual(['Lakeside'])
  })

  test('lists bad lines on standard error, and on standard output as JSON', async () => {
    const file = fileOf('bad.ndjson', `${lines}{"type":"product"}\nnonsense\n`)
    const text = await run(file)
    expect(text).toMatchObject({ code: 1, stdout: '' })
    expect(text.stderr).toBe(
      'line 3: id is missing\nline 4: not valid JSON\naxport: nothing was loaded: 2 bad lines, correct and import again, or load the others with --rejects FILE\n',
    )
    const { code, stdout } = await run('--json', file)
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toEqual({
      loaded: false,
      bad_lines: 2,
      problems: [
        { line: 3, reason: 'id is missing' },
        { line: 4, reason: 'not valid JSON' },
      ],
    })
  })

  test('writes bad lines to the file of --rejects, for its owner alone, and loads the others', async () => {
    const rejects = join(folder, 'rejects.ndjson')
    const { code, stdout } = await run('--rejects', rejects, fileOf('bad.ndjson', `nonsense\n${lines}`))
    expect([code, stdout.split('\n')[0]]).toEqual([0, `loaded 2 lines, 1 rejected (written to ${rejects})`])
    expect(readFileSync(rejects, 'utf8')).toBe('{"line":1,"reason":"not valid JSON","text":"nonsense"}\n')
    expect(statSync(rejects).mode & 0o777).toBe(0o600)
  })

  test('removes with --sync what the file lacks, no more than it may', async () => {
    const file = fileOf('sync.ndjson', '{"type":"user","id":77,"name":"Pat"}\n')
    expect(complaint(await run('--sync', file), 1)).toBe(
      'nothing was loaded: --sync would remove 1 of 1 organizations, more than 10%; is the source complete? If so, allow it with --max-removed',
    )
    const { stdout } = await run('--sync', '--max-removed', '1', '--json', file)
    expect(JSON.parse(stdout)).toMatchObject({ organizations: { deleted: 1 }, users: { unchanged: 1 } })
  })

  test.each([
    ['a folder without CSV files', () => emptyFolder(), /^the folder .* has none of organizations.csv, /],
    [
      'a truncated gzip',
      () => fileOf('cut.gz', gzipSync(sample).subarray(0, 9999)),
      /^the gzip data is damaged or cut short/,
    ],
    [
      'a truncated zip',
      () => fileOf('cut.zip', zipOf({ 'users.csv': lines }).subarray(0, 90)),
      /^the zip is damaged or cut short/,
    ],
    [
      'a CSV file without a column',
      () => fileOf('column.zip', zipOf({ 'users.csv': 'id\n1\n' })),
      /^users.csv has no column name: /,
    ],
    ['a file that is not there', () => join(folder, 'nowhere'), /^can not read .*: there is no such file$/],
    [
      'a text in Latin-1',
      () => fileOf('latin1', Buffer.from('Zo\xeb', 'latin1')),
      /^the file is not UTF-8 text: export it as UTF-8$/,
    ],
  ])('answers %s in one line', async (_, path, message) => {
    expect(complaint(await run(path()), 1)).toMatch(message)
  })

  test('answers a line of 50 MB with its number', async () => {
    const { code, stderr } = await run(
      fileOf('long', `${lines}{"type":"user","name":"${'x'.repeat(50_000_000)}"}`),
    )
    expect([code, stderr.split('\n')[0]]).toEqual([1, 'line 3: longer than 1048576 characters'])
  })

  test('refuses options that do not fit', async () => {
    expect(complaint(await run('--max-removed', '5%', 'x'), 2)).toBe('--max-removed belongs to --sync')
    expect(complaint(await run('--sync', '--max-removed', '101%', 'x'), 2)).toMatch(
      /as 25%, or a number of rows as 500\.$/,
    )
    expect(complaint(await run('--rejects', folder, fileOf('x', lines)), 1)).toMatch(
      /^can not write the rejects to /,
    )
  })

  test.each(['SIGINT', 'SIGTERM'] as const)(
    'leaves the database untouched when %s comes while it reads',
    async signal => {
      const version = await database.sql`select version from export_state`
      const rejects = join(folder, 'interrupted.ndjson')
      const running = await start(['import', '-', '--rejects', rejects], { env, stdin: 'open' })
      running.stdin.write(lines)
      await stagingExists(database)
      running.signal(signal)
      const { code, stdout, stderr } = await running.finished
      expect({ code, stdout, stderr }).toEqual({
        code: 130,
        stdout: '',
        stderr: 'axport: interrupted: nothing was loaded\n',
      })
      expect(() => statSync(rejects)).toThrow()
      // The lock is free at once.
      expect((await run(fileOf('after.ndjson', '{"type":"user","id":77,"name":"Pat"}'))).code).toBe(0)
      expect(await database.sql`select version from export_state`).toEqual(version as never)
      expect(await database.sql`select id from assessments`).toBeEmpty()
    },
  )

  test('leaves the database untouched when Ctrl-C comes while it works', async () => {
    const before = await everything(database.sql)
    const running = await start(['import', fileOf('sample.ndjson', sample)], { env })
    await stagingExists(database)
    running.signal('SIGINT')
    expect(await running.finished).toMatchObject({
      code: 130,
      stderr: 'axport: interrupted: nothing was loaded\n',
    })
    expect(await everything(database.sql)).toEqual(before)
  })

  test('says that it waits for another import, and goes on when that has ended', async () => {
    const first = await start(['import', '-'], { env, stdin: 'open' })
    first.stdin.write(lines)
    await stagingExists(database)
    const second = await start(['import', fileOf('second.ndjson', lines)], { env })
    while (!/^waiting for /.test(second.stderr())) await Bun.sleep(20)
    expect(second.exitCode()).toBeUndefined()
    first.stdin.end()
    expect(await first.finished).toMatchObject({ code: 0 })
    const { code, stdout } = await second.finished
    expect([code, stdout.split('\n')[0]]).toEqual([0, 'loaded 2 lines'])
  })
})

/** Until an import has begun: on Postgres its lock shows, on the embedded database it holds everybody else up. */
async function stagingExists({ sql, url }: TestDatabase): Promise<void> {
  if (url.startsWith('embedded:')) {
    while (
      (await Promise.race([sql`select 1`.then(() => 'free'), Bun.sleep(400).then(() => 'held')])) === 'free'
    )
      await Bun.sleep(20)
    return
  }
  for (;;) {
    const [lock] = await sql`
      select from pg_locks where locktype = 'advisory' and granted
        and database = (select oid from pg_database where datname = current_database())`
    if (lock) return
    await Bun.sleep(20)
  }
}

test('the help of import fits a screen and has an example', async () => {
  const { stdout } = await axport(['import', '--help'])
  expect(stdout.split('\n').length).toBeLessThanOrEqual(25)
  expect(stdout).toContain('Example: axport import')
})
