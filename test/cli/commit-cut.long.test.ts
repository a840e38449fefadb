// What a command says when its connection to the database is cut at COMMIT, or a signal comes then.
import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pino from 'pino'
import { MIGRATIONS } from '../../src/database/migrations.ts'
import { CommitProxy, type Cut } from '../support/commit-proxy.ts'
import {
  cleanUp,
  emptyFolder,
  errorLine,
  runExecutable,
  start,
  TEST_TIMEOUT_MS,
} from '../support/executable.ts'
import { ndjsonOf, organization } from '../support/fixtures.ts'
import { openWorld, provision, requestToken } from '../support/operator.ts'
import { listen, type TestDatabase } from '../support/service.ts'
import { until } from '../support/until.ts'
import { CUT } from '../support/wordings.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

let database: TestDatabase
let proxy: CommitProxy
let env: { DATABASE_URL: string }
beforeAll(async () => {
  database = await openWorld()
  proxy = await CommitProxy.start(database.url)
  env = { DATABASE_URL: proxy.url }
})
beforeEach(() => proxy.cutAt(undefined))
afterAll(async () => {
  await proxy.stop()
  await cleanUp()
  await database.close()
})

const run = (...args: string[]) => runExecutable(args, { env })

/** Runs `axport ARGS` until its COMMIT has no answer, and interrupts it then. */
async function interrupted(args: string[], options: Parameters<typeof start>[1] = {}) {
  proxy.cutAt('never, and no answer arrives')
  const running = await start(args, { env, ...options })
  await proxy.reached
  running.signal('SIGINT')
  return await running.finished
}

/** How a transaction ends that is cut at these points, and whether it is committed. */
const CUTS: [cut: Cut, isCommitted: boolean][] = [
  ['before COMMIT arrives', false],
  ['before the answer arrives', true],
]

describe('axport integration create', () => {
  const UNKNOWN = 'it is not known whether the integration was created; axport integration list shows it'

  /** Whether the credentials get a token. */
  async function work(clientId = '', clientSecret = ''): Promise<boolean> {
    const { url, stop } = listen(database, pino({ level: 'silent' }))
    const { status } = await requestToken(url, { clientId, clientSecret })
    await stop()
    return status === 200
  }

  test('prints no secret, and says that nothing was created, when the connection is cut before COMMIT is sent', async () => {
    for (const form of [[], ['--json']]) {
      proxy.cutAt('before COMMIT is sent')
      const finished = await run('integration', 'create', 'Never there', ...form)
      expect(errorLine(finished, 1)).toBe(`${CUT}: no integration was created; run the same command again`)
    }
    expect((await database.sql`select from integrations where name = 'Never there'`).count).toBe(0)
  })

  test.each(CUTS)(
    'prints the secret, with "committed": null, when the connection is cut %s',
    async (cut, isCommitted) => {
      proxy.cutAt(cut)
      const { code, stdout, stderr } = await run('integration', 'create', 'Cut', '--json')
      const { client_id: id, client_secret: secret, ...more } = JSON.parse(stdout)
      expect({ code, stderr, more }).toEqual({
        code: 1,
        stderr: `axport: ${CUT} while committing: ${UNKNOWN}\n`,
        more: { committed: null },
      })
      expect(await work(id, secret)).toBe(isCommitted)
    },
  )

  test.each(CUTS)('prints the secret as text when the connection is cut %s', async (cut, isCommitted) => {
    proxy.cutAt(cut)
    const { code, stdout, stderr } = await run('integration', 'create', 'Cut')
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        'Keep the secret now: it is not shown again. It works if it was stored.\n' +
        `axport: ${CUT} while committing: ${UNKNOWN}\n`,
    })
    const [, id, secret] = /^client_id {6}(\S+)\nclient_secret {2}(\S+)\n$/.exec(stdout) ?? []
    expect(await work(id, secret)).toBe(isCommitted)
  })

  test('prints the secret when a signal comes while COMMIT runs', async () => {
    const { code, stdout, stderr } = await interrupted(['integration', 'create', 'Interrupted', '--json'])
    const { client_id: id, client_secret: secret, committed } = JSON.parse(stdout)
    expect({ code, stderr, committed }).toEqual({
      code: 130,
      stderr: `axport: interrupted: ${UNKNOWN}\n`,
      committed: null,
    })
    expect(await work(id, secret)).toBe(true)
  })
})

describe('axport import', () => {
  const UNKNOWN = 'it is not known whether all was loaded; run the same command again, which does no harm'
  let nextId = 100

  /** An import of one new organization with one bad line. */
  function importing(...args: string[]) {
    const id = nextId++
    const rejects = join(emptyFolder(), 'rejects')
    const stdin = { text: ndjsonOf([organization(id), { type: 'product', id: -1 }]) }
    const isLoaded = async () => (await database.sql`select from organizations where id = ${id}`).count === 1
    return {
      command: ['import', '-', '--rejects', rejects, ...args],
      options: { env, stdin },
      isLoaded,
      rejects: () =>
        readdirSync(join(rejects, '..')).map(name => readFileSync(join(rejects, '..', name), 'utf8')),
    }
  }

  test('says that nothing was loaded when the connection is cut before COMMIT is sent', async () => {
    const { command, options, isLoaded, rejects } = importing('--json')
    proxy.cutAt('before COMMIT is sent')
    const { code, stdout, stderr } = await runExecutable(command, options)
    const error = `${CUT}: nothing was loaded; run the same command again`
    expect({ code, stderr }).toEqual({ code: 1, stderr: `axport: ${error}\n` })
    expect(JSON.parse(stdout)).toEqual({ loaded: false, error, notes: [] })
    expect(await isLoaded()).toBe(false)
    expect(rejects()).toEqual([])
  })

  test.each(CUTS)(
    'says that it is not known when the connection is cut %s, and keeps the rejects',
    async (cut, isCommitted) => {
      const { command, options, isLoaded, rejects } = importing('--json')
      proxy.cutAt(cut)
      const { code, stdout, stderr } = await runExecutable(command, options)
      const error = `${CUT} while committing: ${UNKNOWN}`
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(`axport: ${error}\n`) })
      expect(JSON.parse(stdout)).toMatchObject({ loaded: null, committed: null, error, rejected: 1 })
      expect(await isLoaded()).toBe(isCommitted)
      expect(rejects()).toEqual([expect.stringContaining('"line":2')])
    },
  )

  test('prints no counts as text when it is not known', async () => {
    const { command, options } = importing()
    proxy.cutAt('before the answer arrives')
    const { code, stdout, stderr } = await runExecutable(command, options)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toEndWith(`axport: ${CUT} while committing: ${UNKNOWN}\n`)
  })

  test('says that it is not known when a signal comes while COMMIT runs', async () => {
    const { command, options, isLoaded, rejects } = importing('--json')
    const { code, stdout, stderr } = await interrupted(command, options)
    expect({ code, stderr }).toEqual({
      code: 130,
      stderr: expect.stringContaining(`axport: interrupted: ${UNKNOWN}\n`),
    })
    expect(JSON.parse(stdout)).toMatchObject({ loaded: null, committed: null })
    // The server may still commit when the process has ended.
    await until('the lines are loaded', isLoaded)
    expect(rejects()).toHaveLength(1)
  })

  test('says that all was loaded, and what remains, when only ANALYZE failed', async () => {
    const { command, options, isLoaded } = importing('--json')
    const lock = await database.sql.reserve()
    await lock`begin`
    await lock`lock table organizations in share update exclusive mode`
    const running = await start(command, options)
    const [row] = await until('ANALYZE waits', async () => {
      const rows = await database.sql<{ pid: number }[]>`
        select pid from pg_stat_activity where wait_event_type = 'Lock' and query like '%analyze_table%'
          and datname = current_database()`
      return rows.length > 0 && rows
    })
    await database.sql`select pg_terminate_backend(${row?.pid ?? 0})`
    const { code, stdout, stderr } = await running.finished
    await lock`rollback`
    lock.release()
    expect(stderr).toMatch(
      /axport: all was loaded, and statistics were not gathered \(it is starting up or shutting down\): pages may be slow until the next import, which gathers them\n$/,
    )
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({ loaded: true })
    expect(await isLoaded()).toBe(true)
  })
})

describe('axport erase', () => {
  let nextId = 9000
  const isErased = async (id: string) =>
    (await database.sql`select from erasures where user_id = ${id}`).count === 1

  test('says that nobody was erased when the connection is cut before COMMIT is sent', async () => {
    const id = String(nextId++)
    for (const form of [[], ['--json']]) {
      proxy.cutAt('before COMMIT is sent')
      const finished = await run('erase', id, '--yes', ...form)
      expect(errorLine(finished, 1)).toBe(`${CUT}: nobody was erased; run the same command again`)
    }
    expect(await isErased(id)).toBe(false)
  })

  test.each(CUTS)('says that it is not known when the connection is cut %s', async (cut, isCommitted) => {
    for (const form of [[], ['--json']]) {
      const id = String(nextId++)
      proxy.cutAt(cut)
      const { code, stdout, stderr } = await run('erase', id, '--yes', ...form)
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: `axport: ${CUT} while committing: it is not known whether user ${id} was erased; axport erase ${id} --dry-run shows it\n`,
      })
      const object = { user_id: Number(id), erased: null, committed: null }
      expect(stdout).toBe(form.length === 0 ? '' : `${JSON.stringify(object)}\n`)
      expect(await isErased(id)).toBe(isCommitted)
    }
  })
})

describe('other commands', () => {
  test('--json has "committed": null when the answer to COMMIT is lost', async () => {
    const { clientId } = await provision(database.sql)
    const commands = [
      ['integration', 'scope', clientId, '--products', '1'],
      ['integration', 'disable', clientId],
      ['integration', 'describe', clientId, '--purpose', 'HR'],
      ['integration', 'rotate', clientId],
      ['erase', '501', '--remove-tombstone'],
      ['migrate', '--time-zone', 'Europe/Paris'],
    ]
    for (const command of commands) {
      proxy.cutAt('before the answer arrives', command[0] === 'migrate' ? MIGRATIONS.length : 0)
      const { code, stdout } = await run(...command, '--json')
      expect({ command, code, committed: JSON.parse(stdout).committed }).toEqual({
        command,
        code: 1,
        committed: null,
      })
    }
  })

  test('migrate names the steps that were taken, refresh says that what was done stays, and both can be run again', async () => {
    proxy.cutAt('before COMMIT is sent', MIGRATIONS.length + 1)
    expect(await run('migrate', '--time-zone', 'Europe/Berlin', '--disclosures', 'off')).toEqual({
      code: 1,
      stdout: 'the schema is up to date\nthe time zone is now Europe/Berlin\n',
      stderr: `axport: ${CUT}: the schema is up to date; the time zone is now Europe/Berlin; the rest was not done; run the same command again\n`,
    })
    await database.sql.unsafe(`
      set session_replication_role = replica;
      insert into organizations select id, 'Organization ' || id from generate_series(20001, 20002) as id;
      insert into products select id, 'Product ' || id from generate_series(20001, 25000) as id;
      reset session_replication_role`)
    proxy.cutAt('before COMMIT is sent', 1)
    expect(errorLine(await run('refresh'), 1)).toBe(
      `${CUT}: what was done before that stays; run the same command again`,
    )
    proxy.cutAt(undefined)
    expect(await run('refresh')).toMatchObject({ code: 0 })
  })

  test('a signal that comes while a command waits for a lock ends it with one line, and changes nothing', async () => {
    const { clientId } = await provision(database.sql)
    const lock = await database.sql.reserve()
    await lock`begin`
    await lock`select from integrations where client_id = ${clientId} for update`
    const running = await start(['integration', 'disable', clientId], { env })
    await until('it waits', async () => {
      const rows = await database.sql`
        select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
      return rows.count > 0
    })
    running.signal('SIGINT')
    const stderr = 'axport: interrupted: nothing was changed\n'
    expect(await running.finished).toEqual({ code: 130, stdout: '', stderr })
    await lock`rollback`
    const [row] = await lock`select disabled_at from integrations where client_id = ${clientId}`
    lock.release()
    expect(row?.disabled_at).toBeNull()
  })
})
