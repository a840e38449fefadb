// What a command says when its connection to the database is cut at COMMIT, or a signal comes then.
import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pino from 'pino'
import { openDatabase } from '../../src/postgres/database.ts'
import { MIGRATIONS } from '../../src/postgres/schema/migrations.ts'
import { emptyDatabase } from '../support/cluster.ts'
import { CommitProxy, type Cut } from '../support/commit-proxy.ts'
import { record } from '../support/disclosures.ts'
import { axport, cleanUp, emptyFolder, errorLine, start, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { assessment, educator, ndjsonOf, organization } from '../support/fixtures.ts'
import { idsOf } from '../support/import.ts'
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

const run = (...args: string[]) => axport(args, { env })
const down = () => {
  proxy.isDown = true
}

let nextId = 100
/** Runs an import of one new organization with one bad line. Returns its id, and the path for the rejects. */
function importing(...args: string[]) {
  const id = nextId++
  const rejects = join(emptyFolder(), 'rejects')
  const stdin = { text: ndjsonOf([organization(id), { type: 'product', id: -1 }]) }
  const command = ['import', '-', '--rejects', rejects, ...args]
  const files = () => readdirSync(join(rejects, '..')).map(name => name.replace(/\d+/, 'PID'))
  const isLoaded = async () => (await idsOf(database.sql, 'organizations')).includes(id)
  return { id, stdin, command, files, rejects, isLoaded }
}

describe('axport import', () => {
  test('says that all was loaded when the answer to COMMIT was lost', async () => {
    const { command, stdin, files, isLoaded } = importing('--json')
    proxy.cutAt('before the answer arrives')
    const { code, stdout, stderr } = await axport(command, { env, stdin })
    expect({ code, stderr }).toMatchObject({ code: 0 })
    expect(JSON.parse(stdout)).toMatchObject({ loaded: true, rejected: 1 })
    expect(await isLoaded()).toBe(true)
    expect(files()).toEqual(['rejects'])
  })

  test.each(['before COMMIT arrives', 'before COMMIT arrives, half-open'] as const)(
    'says that nothing was loaded when the connection was cut %s',
    async cut => {
      const { command, stdin, files, isLoaded } = importing('--json')
      proxy.cutAt(cut)
      const { code, stdout, stderr } = await axport(command, { env, stdin })
      const error = `${CUT}: nothing was loaded; run the same command again`
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(`axport: ${error}\n`) })
      expect(JSON.parse(stdout)).toMatchObject({ loaded: false, error })
      expect(await isLoaded()).toBe(false)
      expect(files()).toEqual([])
    },
  )

  test('says that it does not know when nothing answers, and keeps the draft of the rejects', async () => {
    const { command, stdin, files, rejects, isLoaded } = importing('--json')
    proxy.cutAt('before the answer arrives', down)
    const running = await start(command, { env, stdin })
    await proxy.reached
    // Otherwise it would ask for 30 seconds.
    await Bun.sleep(500)
    running.signal('SIGTERM')
    const { code, stdout, stderr } = await running.finished
    const error =
      'it is not known whether all was loaded: the database cannot be asked: it closes connections; run the same command again, which does no harm'
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining(`axport: ${error}\n`) })
    expect(JSON.parse(stdout)).toMatchObject({ loaded: null, outcome: 'unknown', error, rejected: 1 })
    expect(await isLoaded()).toBe(true)
    expect(files()).toEqual(['rejects.PID.tmp'])
    const [, draft = ''] = /^note: the rejects are in (\S+), as far as/m.exec(stderr) ?? []
    expect(draft).toStartWith(rejects)
    expect(readFileSync(draft, 'utf8')).toContain('"line":2')
  })

  test.each(['SIGINT', 'SIGTERM'] as const)(
    'reports what was loaded when %s comes while COMMIT runs',
    async signal => {
      const { command, stdin, files, isLoaded } = importing('--json')
      proxy.cutAt('never, and no answer arrives')
      const running = await start(command, { env, stdin })
      await proxy.reached
      running.signal(signal)
      const { code, stdout, stderr } = await running.finished
      expect({ code, stderr }).toMatchObject({ code: 130 })
      expect(stderr).toMatch(/^axport: interrupted: all was loaded/m)
      expect(JSON.parse(stdout)).toMatchObject({ loaded: true })
      expect(await isLoaded()).toBe(true)
      expect(files()).toEqual(['rejects'])
    },
  )

  test('says that all was loaded when only VACUUM failed', async () => {
    const { command, stdin, isLoaded } = importing('--json')
    const lock = await database.sql.reserve()
    await lock`begin`
    await lock`lock table organizations in share update exclusive mode`
    const running = await start(command, { env, stdin })
    const waiting = () => database.sql<{ pid: number }[]>`
      select pid from pg_stat_activity where wait_event_type = 'Lock' and query like 'vacuum%'
        and datname = current_database()`
    const [row] = await until('VACUUM waits', async () => {
      const rows = await waiting()
      return rows.length > 0 && rows
    })
    await database.sql`select pg_terminate_backend(${row?.pid ?? 0})`
    const { code, stdout, stderr } = await running.finished
    await lock`rollback`
    lock.release()
    expect({ code, stderr }).toMatchObject({ code: 75 })
    expect(stderr).toMatch(
      /axport: all was loaded, and VACUUM failed \(it closes connections\): pages may be slow until you run vacuum \(analyze\) organizations, .* in psql\n$/,
    )
    expect(JSON.parse(stdout)).toMatchObject({ loaded: true })
    expect(await isLoaded()).toBe(true)
  })
})

describe('axport integration', () => {
  const isThere = async (id: string) =>
    (await database.sql`select from integrations where client_id = ${id}`).count === 1

  test('create prints a secret that was stored, also when the answer to COMMIT was lost', async () => {
    proxy.cutAt('before the answer arrives')
    const { code, stdout } = await run('integration', 'create', 'Lost answer', '--json')
    expect(code).toBe(0)
    expect(await isThere(JSON.parse(stdout).client_id)).toBe(true)
  })

  test('create prints no secret that was not stored', async () => {
    proxy.cutAt('before COMMIT arrives, half-open')
    const finished = await run('integration', 'create', 'Never there', '--json')
    expect(errorLine(finished, 1)).toBe(`${CUT}: no integration was created; run the same command again`)
    expect((await database.sql`select from integrations where name = 'Never there'`).count).toBe(0)
  })

  test('rotate prints the secret, marked as unconfirmed, when it is not known whether it was stored', async () => {
    const { clientId } = await provision(database.sql)
    proxy.cutAt('before the answer arrives', down)
    const running = await start(['integration', 'rotate', clientId], { env })
    await proxy.reached
    await Bun.sleep(500)
    running.signal('SIGINT')
    const { code, stdout, stderr } = await running.finished
    expect(code).toBe(3)
    expect(stderr).toBe(
      'Unconfirmed: this secret works only if it was stored, see below. Keep the secret now: it is not shown again.\n' +
        `axport: it is not known whether the secret was replaced: the database cannot be asked: it closes connections; axport integration show ${clientId} shows it\n`,
    )
    const [, clientSecret = ''] = /^client_secret {2}(\S+)$/m.exec(stdout) ?? []
    const { url, stop } = listen(database, pino({ level: 'silent' }))
    expect((await requestToken(url, { clientId, clientSecret })).status).toBe(200)
    await stop()
  })

  test('rotate prints a secret that works when the answer to COMMIT was lost', async () => {
    const { clientId } = await provision(database.sql)
    proxy.cutAt('before the answer arrives')
    const { code, stdout } = await run('integration', 'rotate', clientId, '--json')
    expect(code).toBe(0)
    const { url, stop } = listen(database, pino({ level: 'silent' }))
    const clientSecret = JSON.parse(stdout).client_secret
    expect((await requestToken(url, { clientId, clientSecret })).status).toBe(200)
    await stop()
  })

  test('--json has the outcome when it is not known', async () => {
    const expectUnknown = async (name: string, ...more: string[]) => {
      const { clientId } = await provision(database.sql)
      const way = await CommitProxy.start(database.url)
      way.cutAt('before the answer arrives', () => {
        way.isDown = true
      })
      const command = ['integration', name, clientId, ...more, '--json']
      const running = await start(command, { env: { DATABASE_URL: way.url } })
      await way.reached
      await Bun.sleep(300)
      running.signal('SIGINT')
      const { code, stdout } = await running.finished
      expect([name, code, JSON.parse(stdout).outcome]).toEqual([name, 3, 'unknown'])
      await way.stop()
    }
    // Each asks for six seconds after the signal.
    await Promise.all([
      expectUnknown('scope', '--products', '1'),
      expectUnknown('disable'),
      expectUnknown('describe', '--purpose', 'HR'),
      expectUnknown('rotate'),
    ])
  })

  test('ends with one line when a signal comes while it waits for a lock, and changes nothing', async () => {
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

describe('axport erase', () => {
  test('reports the erasure when the answer to COMMIT was lost', async () => {
    await record(database.sql)
    proxy.cutAt('before the answer arrives')
    const { code, stdout } = await run('erase', '501', '--yes', '--json')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ user_id: 501, erased: true, assessments: 3, shown_to: [] })
    expect(await idsOf(database.sql, 'export_records')).toEqual([])
  })

  test('says that nobody was erased when COMMIT was lost, and null when that is not known', async () => {
    await axport(['import', '-'], {
      env,
      stdin: { text: ndjsonOf([educator(502), assessment(9050, { user_id: 502 })]) },
    })
    proxy.cutAt('before COMMIT arrives, half-open')
    expect(errorLine(await run('erase', '502', '--yes'), 1)).toBe(
      `${CUT}: nobody was erased; run the same command again`,
    )
    expect(await idsOf(database.sql, 'export_records')).toEqual([9050])
    proxy.cutAt('before the answer arrives', down)
    const running = await start(['erase', '502', '--yes', '--json'], { env })
    await proxy.reached
    await Bun.sleep(300)
    running.signal('SIGINT')
    const { code, stdout, stderr } = await running.finished
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr:
        'axport: it is not known whether user 502 was erased: the database cannot be asked: it closes connections; axport erase 502 --dry-run shows it\n',
    })
    expect(JSON.parse(stdout)).toMatchObject({
      user_id: 502,
      erased: null,
      outcome: 'unknown',
      shown_to: null,
    })
    expect(await idsOf(database.sql, 'export_records')).toEqual([])
  })
})

describe('commands of several transactions say how far they came', () => {
  test('refresh', async () => {
    await database.sql.unsafe(`
      set session_replication_role = replica;
      insert into organizations select id, 'Organization ' || id from generate_series(20001, 20002) as id;
      insert into products select id, 'Product ' || id from generate_series(20001, 25000) as id;
      reset session_replication_role`)
    proxy.cutAt('before COMMIT arrives', undefined, 1)
    expect(errorLine(await run('refresh'), 1)).toMatch(
      new RegExp(`^${CUT}: rows corrected so far: [12]\\d{3}; run the same command again$`),
    )
    proxy.cutAt(undefined)
    expect(await run('refresh')).toMatchObject({ code: 0 })
  })

  test('migrate', async () => {
    proxy.cutAt('before COMMIT arrives', undefined, MIGRATIONS.length + 1)
    const finished = await run('migrate', '--time-zone', 'Europe/Berlin', '--disclosures', 'off')
    expect(finished).toEqual({
      code: 1,
      stdout: 'the schema is up to date\nthe time zone is now Europe/Berlin\n',
      stderr: `axport: ${CUT}: the time zone was set; run the same command again\n`,
    })
  })
})

describe('axport restore', () => {
  /** Restores a backup through a proxy that cuts the connection at the last COMMIT. */
  async function restoring(cut: Cut) {
    const file = join(emptyFolder(), 'axport.backup')
    await axport(['backup', file], { env: { DATABASE_URL: database.url } })
    const target = await emptyDatabase()
    const way = await CommitProxy.start(target.url)
    // Each migration has a transaction.
    way.cutAt(cut, undefined, MIGRATIONS.length)
    const finished = await axport(['restore', file, '--json'], { env: { DATABASE_URL: way.url } })
    expect(way.spared).toBe(-1)
    await way.stop()
    const { sql, close } = await openDatabase(target.url, 1)
    const organizations = await idsOf(sql, 'organizations')
    await close()
    await target.drop()
    return { ...finished, organizations }
  }

  test('says that all was restored when the answer to COMMIT was lost', async () => {
    const { code, stdout, organizations } = await restoring('before the answer arrives')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ restored: true })
    expect(organizations.length).toBeGreaterThan(0)
  })

  test('says that nothing was restored when the connection was cut before COMMIT', async () => {
    const finished = await restoring('before COMMIT arrives, half-open')
    expect(errorLine(finished, 1)).toBe(`${CUT}: nothing was restored; run the same command again`)
    expect(finished.organizations).toEqual([])
  })
})
