import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Database, openDatabase } from '../../src/postgres/database.ts'
import { emptyDatabase } from '../support/cluster.ts'
import { badFindings } from '../support/doctor.ts'
import {
  axport,
  cleanUp,
  emptyFolder,
  errorLine,
  shell,
  start,
  TEST_TIMEOUT_MS,
} from '../support/executable.ts'
import { openWorld, succeed } from '../support/operator.ts'
import { useRoles } from '../support/roles.ts'
import { until } from '../support/until.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

const cleanups: (() => Promise<void>)[] = []
const folder = emptyFolder()
const file = join(folder, 'axport.backup')
/** The URL of the database that is backed up. */
let from: string
let target: { url: string; drop(): Promise<void> }
let db: Database

beforeAll(async () => {
  const source = await openWorld()
  cleanups.push(() => source.close())
  from = source.url
  await succeed(from, 'integration', 'create', 'Nightly', '--organizations', 'all', '--products', '1,2')
  target = await emptyDatabase()
  db = await openDatabase(target.url, 3)
})
afterAll(async () => {
  await cleanUp()
  for (const close of cleanups) await close()
  await db.close()
  await target.drop()
})
const makeRole = useRoles()

const inTarget = (...args: string[]) => axport(args, { env: { DATABASE_URL: target.url } })

test('axport backup writes a file, and replaces an existing file only when complete', async () => {
  writeFileSync(file, 'of yesterday', { mode: 0o644 })
  const { stdout } = await axport(['backup', file], { env: { DATABASE_URL: from } })
  expect(stdout).toMatch(/^\/.*axport\.backup has 3 assessments and 1 integration as of \S+Z, in 0\.0 MB\n$/)
  expect(readdirSync(folder)).toEqual(['axport.backup'])
  const sealed = readFileSync(file)
  const json = JSON.parse(await succeed(from, 'backup', '--json', file))
  expect(json).toMatchObject({ file, schema: expect.any(String), time_zone: 'UTC', rows: { assessments: 3 } })
  expect(Math.abs(json.bytes - sealed.length)).toBeLessThan(50)
})

test('axport backup - writes the backup to standard output, and messages to standard error', async () => {
  const { stderr } = await shell('"$AXPORT" backup - > copy', {
    env: { DATABASE_URL: from },
    cwd: folder,
  })
  expect(stderr).toMatch(/^the backup has 3 assessments and 1 integration as of /m)
  const { code, stdout } = await axport(['restore', '--check', join(folder, 'copy')])
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(/copy is whole: a backup of .* (\d+|less than two) seconds old/),
  ])
})

test('axport restore refuses a truncated file before it opens the database', async () => {
  const short = join(folder, 'short')
  writeFileSync(short, readFileSync(file).subarray(0, -1))
  const env = { DATABASE_URL: `embedded:${join(folder, 'data')}` }
  expect(errorLine(await axport(['restore', short], { env }), 1)).toContain('damaged or cut short')
  expect(existsSync(join(folder, 'data'))).toBe(false)
})

describe('axport restore into Postgres', () => {
  let lock: Awaited<ReturnType<Database['sql']['reserve']>>
  beforeEach(async () => {
    lock = await db.sql.reserve()
  })

  /** Blocks the restore after it has written the rows that come before the users. */
  const startBlocked = async () => {
    await lock`begin`
    await lock`lock table users in exclusive mode`
    const running = await start(['restore', file], { env: { DATABASE_URL: target.url } })
    await until('the restore waits for the users', async () => {
      const { count } =
        await db.sql`select from pg_locks where relation = to_regclass('users') and not granted`
      return count === 1
    })
    return running
  }
  const release = async () => {
    await lock`rollback`
    lock.release()
  }
  const isEmpty = async () => {
    const [row] = await db.sql`
      select not exists (select from integrations) and not exists (select from organizations) as yes`
    return row?.yes as boolean
  }

  test('leaves the database empty if it is interrupted or killed', async () => {
    await inTarget('migrate')
    for (const signal of ['SIGINT', 'SIGKILL'] as const) {
      const running = await startBlocked()
      running.signal(signal)
      const { code, stderr } = await running.finished
      if (signal === 'SIGINT')
        expect([code, stderr]).toEqual([130, 'axport: interrupted: nothing was restored\n'])
      await release()
      await until('the killed restore is rolled back', async () => {
        const { count } = await db.sql`select from pg_locks where relation = to_regclass('integrations')`
        return count === 0
      })
      expect(await isEmpty()).toBe(true)
      lock = await db.sql.reserve()
    }
    lock.release()
  })

  test('restores everything, and prints the age of the backup and which later changes it lacks', async () => {
    lock.release()
    const { code, stdout, stderr } = await inTarget('restore', file)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(
      /^restored a backup of \S+Z, (\d+|less than two) (seconds|minutes) old, made by axport \S+ \(\w+, UTC\)\n/,
    )
    expect(stdout).toMatch(
      /\nassessments +3\n(?:\w+ +\d+\n)*secrets rotated and integrations disabled since then are as they were/,
    )
    expect(await badFindings(target.url, '--full')).toEqual([])
    expect(errorLine(await inTarget('restore', file), 1)).toContain('the database is not empty')
  })

  test('restores a database that a role of --grant-loader cannot back up, and a member of pg_read_all_data can', async () => {
    lock.release()
    const role = await makeRole()
    const out = join(folder, 'of-role')
    const run = () => axport(['backup', out], { env: { DATABASE_URL: role.url(target.url) } })
    await inTarget('migrate', '--grant-loader', role.name)
    expect(errorLine(await run(), 1)).toMatch(
      /permission denied for table integrations \(SQLSTATE 42501\); run this command as the owner of the tables$/,
    )
    expect(readdirSync(folder).filter(name => name.startsWith('of-role'))).toEqual([])
    await db.sql.unsafe(`grant pg_read_all_data to ${role.name}`)
    expect((await run()).code).toBe(0)
  })
})

describe('axport backup --keep', () => {
  const kept = join(folder, 'kept')
  const backUp = async (count: number) =>
    await axport(['backup', '--keep', String(count), kept], { env: { DATABASE_URL: from } })
  const old = ['axport-2020-01-02T03-04-05Z.backup', 'axport-2021-01-02T03-04-05Z.backup']

  test('makes the folder for its owner alone, and a backup with its time in its name, and notes the success', async () => {
    expect(await backUp(2)).toMatchObject({ code: 0, stderr: '' })
    const { sql, close } = await openDatabase(from, 1)
    const jobs = await sql`select name from jobs`
    await close()
    expect(jobs.map(({ name }) => name)).toEqual(['backup'])
    expect(statSync(kept).mode & 0o777).toBe(0o700)
    expect(readdirSync(kept)).toEqual([
      expect.stringMatching(/^axport-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\.backup$/),
    ])
  })

  test('deletes the oldest backups, and no other file', async () => {
    const others = ['axport.backup', 'axport-2020.backup', 'notes.txt']
    for (const name of [...old, ...others]) writeFileSync(join(kept, name), '')
    const backups = () => readdirSync(kept).filter(name => !others.includes(name))
    // Backups of one second have one name.
    await until('two backups have other seconds in their names', async () => {
      expect((await backUp(2)).code).toBe(0)
      return backups().every(name => !old.includes(name))
    })
    expect(backups()).toHaveLength(2)
    expect(readdirSync(kept)).toEqual(expect.arrayContaining(others))
  })

  test('deletes nothing if the new backup fails', async () => {
    for (const name of old) writeFileSync(join(kept, name), '')
    const before = readdirSync(kept)
    const env = { DATABASE_URL: from.replace(/\/\w+$/, '/nothing') }
    expect(errorLine(await axport(['backup', '--keep', '1', kept], { env }), 1)).toContain(
      'it has no database of the name',
    )
    expect(readdirSync(kept)).toEqual(before)
  })

  test('is refused for standard output', async () => {
    expect(errorLine(await axport(['backup', '--keep', '3', '-']), 2)).toBe('--keep needs a folder')
  })
})

describe('axport restore --rehearse', () => {
  const kept = join(folder, 'kept')
  const temporary = join(folder, 'temporary')
  const rehearse = (path: string) =>
    axport(['restore', '--rehearse', '--json', path], { env: { TMPDIR: temporary } })

  // first-year.long.test.ts holds that the success is noted in DATABASE_URL.
  test('needs no database: restores the newest backup of a folder, counts, and leaves nothing behind', async () => {
    mkdirSync(temporary)
    const { code, stdout } = await rehearse(kept)
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { restored: false, records: 3 }])
    expect(readdirSync(temporary)).toEqual([])
  })

  test('fails for a damaged backup, and for a folder without one', async () => {
    const short = join(folder, 'short')
    writeFileSync(short, readFileSync(file).subarray(0, -1))
    expect(errorLine(await rehearse(short), 1)).toContain('damaged or cut short')
    expect(errorLine(await rehearse(temporary), 1)).toEndWith(
      `has no backup: axport backup --keep N ${temporary} makes one`,
    )
    expect(readdirSync(temporary)).toEqual([])
  })
})

test('axport backup leaves no file if it is interrupted', async () => {
  const lock = await db.sql.reserve()
  await lock`begin`
  await lock`lock table users in access exclusive mode`
  const running = await start(['backup', join(folder, 'none')], { env: { DATABASE_URL: target.url } })
  await until('the backup waits for the users', async () => {
    const { count } = await db.sql`select from pg_locks where not granted`
    return count === 1
  })
  running.signal('SIGTERM')
  expect(await running.finished).toEqual({
    code: 130,
    stdout: '',
    stderr: 'axport: interrupted: no backup was written\n',
  })
  expect(readdirSync(folder).filter(name => name.startsWith('none'))).toEqual([])
  await lock`rollback`
  lock.release()
})
