import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { axport, cleanUp, complaint, emptyFolder, PATIENCE, shell, start } from '../support/executable.ts'
import { everything } from '../support/import.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'

setDefaultTimeout(PATIENCE)

let database: TestDatabase
let env: Record<string, string>
let folder: string

beforeAll(async () => {
  database = await openTestDatabase('postgres')
  env = { DATABASE_URL: database.url }
  folder = emptyFolder()
})
beforeEach(async () => {
  await database.sql`truncate organizations, products, users, assessments, assessment_parts`
})
afterAll(async () => {
  await cleanUp()
  await database.close()
})

const organization = (id: number) => `{"type":"organization","id":${id},"name":"o${id}"}`
const FIVE = `${[1, 2, 3, 4, 5].map(organization).join('\n')}\n`

function file(name: string, content: string | Uint8Array): string {
  writeFileSync(join(folder, name), content)
  return name
}
const importFile = (name: string) => axport(['import', name], { env, cwd: folder })
const organizations = async () =>
  (await database.sql`select id from organizations order by id`).map(row => Number(row.id))

/** The listed lines and the last line of an import that was refused. */
function refusal({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) {
  const lines = stderr.trimEnd().split('\n')
  return { code, stdout, listed: lines.slice(0, -1), last: lines.at(-1) }
}

describe('import', () => {
  test('loads a file, plain or gzipped, and says how many lines', async () => {
    for (const name of [
      file('a.ndjson', FIVE),
      file('a.ndjson.gz', gzipSync(FIVE)),
      file('gzipped', gzipSync(FIVE)),
    ]) {
      await database.sql`truncate organizations cascade`
      expect(await importFile(name)).toEqual({
        code: 0,
        stdout: expect.stringMatching(/^loaded 5 lines\n/),
        stderr: '',
      })
      expect(await organizations()).toEqual([1, 2, 3, 4, 5])
    }
  })

  test('loads standard input, from a pipe or a file, plain or gzipped', async () => {
    const loaded = { code: 0, stdout: expect.stringMatching(/^loaded 5 lines\n/), stderr: '' }
    const plain = file('b.ndjson', FIVE)
    file('b.ndjson.gz', gzipSync(FIVE))
    expect(await axport(['import', '-'], { env, stdin: { text: FIVE } })).toEqual(loaded)
    expect(await axport(['import', '-'], { env, stdin: { file: join(folder, plain) } })).toEqual(loaded)
    for (const line of ['cat b.ndjson.gz | "$AXPORT" import -', 'gzip -dc b.ndjson.gz | "$AXPORT" import -'])
      expect(await shell(line, { env, cwd: folder })).toEqual(loaded)
  })

  test('loads a file of another system: byte order mark, CRLF, no line break at the end', async () => {
    expect(
      await importFile(file('windows.ndjson', `\ufeff${FIVE.trimEnd().replaceAll('\n', '\r\n')}`)),
    ).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^loaded 5 lines\n/),
      stderr: '',
    })
  })

  test('of nothing loads nothing', async () => {
    expect(await importFile(file('empty', ''))).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^loaded 0 lines\n/),
      stderr: '',
    })
    expect(await axport(['import', '-'], { env })).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^loaded 0 lines\n/),
      stderr: '',
    })
  })

  test('says in one line what is wrong with what it should read', async () => {
    file('plain', FIVE)
    const cases: [string, RegExp][] = [
      ['missing.ndjson', /^can not read missing\.ndjson: there is no such file$/],
      ['plain/x', /^can not read plain\/x: /],
      [folder, /^the folder .* has none of organizations.csv, /],
      [file('utf16', Buffer.from(`\ufeff${FIVE}`, 'utf16le')), /not UTF-8 text: export it as UTF-8$/],
      [file('cut.gz', gzipSync(FIVE).subarray(0, 40)), /^the gzip data is damaged or cut short .*again$/],
    ]
    for (const [name, message] of cases) expect(complaint(await importFile(name), 1)).toMatch(message)
    expect(await organizations()).toEqual([])
  })

  test('says so when standard input is a folder', async () => {
    const finished = await shell('"$AXPORT" import - < .', { env, cwd: folder })
    expect(complaint(finished, 1)).toMatch(/^(standard input is a folder|can not read standard input)/)
  })

  test('says what is wrong with the file before it asks for the database', async () => {
    expect(complaint(await axport(['import', 'missing.ndjson']), 1)).toMatch(/missing\.ndjson/)
  })

  test('lists the bad lines with their numbers and reasons, and leaves the database as it was', async () => {
    await importFile(file('good.ndjson', FIVE))
    const before = await everything(database.sql)
    const bad = [
      'nope',
      '',
      organization(9),
      '{"type":"school","id":1}',
      organization(1).replace('o1', ''),
    ].join('\n')
    expect(refusal(await importFile(file('bad.ndjson', bad)))).toEqual({
      code: 1,
      stdout: '',
      listed: [
        'line 1: not valid JSON',
        'line 4: type must be organization, product, user or assessment',
        'line 5: name is blank',
      ],
      last: 'axport: nothing was loaded: 3 bad lines, correct and import again, or load the others with --rejects FILE',
    })
    expect(await everything(database.sql)).toEqual(before)
  })

  test('counts a line once that is bad in several ways', async () => {
    const line =
      '{"type":"assessment","id":1,"user_id":1,"organization_id":1,"product_id":1,"certified_at":"2026-03-01","proctor_id":1}'
    const { code, listed, last } = refusal(await importFile(file('one.ndjson', line)))
    expect(code).toBe(1)
    expect(listed.join('\n')).toMatch(/^(line 1: .*\n?)+$/)
    expect(last).toMatch(/nothing was loaded: 1 bad line,/)
  })

  test('lists a hundred bad lines and counts the others', async () => {
    const { listed, last } = refusal(await importFile(file('many.ndjson', 'nope\n'.repeat(250))))
    expect(listed.slice(0, 100)).toEqual(
      Array.from({ length: 100 }, (_, index) => `line ${index + 1}: not valid JSON`),
    )
    expect(listed.slice(100).join()).toMatch(/150 more/)
    expect(last).toMatch(/250 bad lines/)
  })

  test('never shows what stands in a bad line', async () => {
    const user = { type: 'user', id: 1, name: 'Zyxwv', email: 'zyxwv@example.org', seid: '99887766' }
    const lines = [
      JSON.stringify(user).slice(0, -1),
      ...['name', 'email', 'seid', 'id', 'record_status', 'first_name'].flatMap(field => [
        JSON.stringify({ ...user, [field]: 'Zyxwv'.repeat(200) }),
        JSON.stringify({ ...user, [field]: ['zyxwv'] }),
      ]),
    ]
    const { code, stderr } = await importFile(file('personal.ndjson', lines.join('\n')))
    expect(code).toBe(1)
    expect(stderr).not.toMatch(/zyxwv|99887766/i)
  })

  test('refuses a line of 50 MB by its number, and reads on', async () => {
    const running = await start(['import', '-'], { env, stdin: 'open' })
    const piece = 'x'.repeat(1_000_000)
    await running.stdin.write(`${FIVE}{"type":"organization","id":9,"name":"`)
    for (let count = 0; count < 50; count++) await running.stdin.write(piece)
    await running.stdin.write(`"}\nnope\n`)
    running.stdin.end()
    expect(refusal(await running.finished)).toMatchObject({
      code: 1,
      listed: ['line 6: longer than 1048576 characters', 'line 7: not valid JSON'],
    })
    expect(await organizations()).toEqual([])
  })

  test('that is interrupted leaves the database as it was, and does not hold up the next', async () => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL'] as const) {
      const running = await start(['import', '-'], { env, stdin: 'open' })
      void running.stdin.write(
        `${Array.from({ length: 20_000 }, (_, id) => organization(id + 1)).join('\n')}\n`,
      )
      // It has begun as soon as it holds the lock that other imports wait for.
      while (running.exitCode() === undefined && (await advisoryLocks()) === 0) await Bun.sleep(10)
      running.signal(signal)
      expect((await running.finished).code).not.toBe(0)
      while ((await advisoryLocks()) > 0) await Bun.sleep(10)
      expect(await organizations()).toEqual([])
    }
    expect(await importFile(file('next.ndjson', FIVE))).toMatchObject({ code: 0 })
  })
})

async function advisoryLocks(): Promise<number> {
  return (
    await database.sql`
      select 1 from pg_locks where locktype = 'advisory' and granted
        and database = (select oid from pg_database where datname = current_database())`
  ).length
}

describe('sample', () => {
  test('writes the same bytes every time, which import loads', async () => {
    const [first, second] = await Promise.all([axport(['sample', '1000']), axport(['sample', '1000'])])
    expect(first).toMatchObject({ code: 0, stderr: '' })
    expect(second.stdout).toBe(first.stdout)
    const lines = first.stdout.trimEnd().split('\n')
    expect(lines.filter(line => line.startsWith('{"type":"assessment"'))).toHaveLength(1000)
    expect(await shell('"$AXPORT" sample 1000 | "$AXPORT" import -', { env })).toEqual({
      code: 0,
      stdout: expect.stringMatching(new RegExp(`^loaded ${lines.length} lines\\n`)),
      stderr: '',
    })
    expect(await database.sql`select from assessments`).toHaveLength(1000)
  })

  test('needs no setting and no database', async () => {
    const { stdout } = await axport(['sample', '1'], { env: { DATABASE_URL: 'nonsense' } })
    expect(stdout.match(/"type":"assessment"/g)).toHaveLength(1)
  })

  test('ends quietly when its reader has had enough', async () => {
    for (const line of ['"$AXPORT" sample 100 | head -1', '"$AXPORT" sample 1000000 | head -1']) {
      const { stdout, stderr } = await shell(line)
      expect(JSON.parse(stdout)).toMatchObject({ type: 'organization' })
      expect(stderr).toBe('')
    }
  })
})
