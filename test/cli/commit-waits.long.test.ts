// Commands whose COMMIT waits for a standby that does not confirm it, or whose server crashes after it.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { axport, cleanUp, type Running, start, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { ndjsonOf } from '../support/fixtures.ts'
import { WORLD } from '../support/operator.ts'
import { type OwnCluster, startCluster } from '../support/own-cluster.ts'
import { until } from '../support/until.ts'
import { withConnection } from '../support/with-connection.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

let cluster: OwnCluster
let env: { DATABASE_URL: string }
beforeAll(async () => {
  // Only a commit flushes the WAL.
  cluster = await startCluster({ settings: { wal_writer_delay: '10s' } })
  env = { DATABASE_URL: cluster.url() }
  await succeed('migrate')
  await axport(['import', '-'], { env, stdin: { text: ndjsonOf(WORLD) } })
})
afterAll(async () => {
  await cleanUp()
  await cluster.stop()
})

const ask = (text: string) => withConnection(cluster.url(), sql => sql.unsafe(text))

async function succeed(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await axport(args, { env })
  expect({ code, stderr }).toMatchObject({ code: 0 })
  return stdout
}

describe('while no standby confirms a COMMIT', () => {
  const NOT_CONFIRMED =
    'and no standby has confirmed that (it waits for a standby): wait until the standbys of synchronous_standby_names are back'
  let clientId: string
  beforeAll(async () => {
    clientId = JSON.parse(await succeed('integration', 'create', 'Waiting', '--json')).client_id
    await ask(`alter system set synchronous_standby_names = 'nobody'`)
    await ask('select pg_reload_conf()')
  })
  afterAll(async () => {
    await ask(`alter system reset synchronous_standby_names`)
    await ask('select pg_reload_conf()')
  })

  /** Runs a command until its COMMIT waits, and interrupts it. Ends the wait of the server afterwards. */
  async function interrupted(args: string[], options: { stdin?: { text: string } } = {}) {
    const running: Running = await start(args, { env, ...options })
    const waiting = () => ask(`select pid from pg_stat_activity where wait_event = 'SyncRep'`)
    await until('the COMMIT waits', async () => (await waiting()).count > 0)
    running.signal('SIGINT')
    const finished = await running.finished
    await ask(`select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`)
    // Otherwise the next command could be interrupted before its COMMIT.
    await until('no COMMIT waits', async () => (await waiting()).count === 0)
    return finished
  }

  test('rotate prints the secret, marked as unconfirmed, and says not to rotate again', async () => {
    const { code, stdout, stderr } = await interrupted(['integration', 'rotate', clientId, '--json'])
    expect(JSON.parse(stdout)).toMatchObject({ client_id: clientId, outcome: 'unconfirmed' })
    expect({ code, stderr }).toEqual({
      code: 4,
      stderr: `axport: the secret was replaced, ${NOT_CONFIRMED}; a second rotation would end the secret that was printed\n`,
    })
  })

  test('import reports what was loaded', async () => {
    const stdin = { text: '{"type":"organization","id":999,"name":"New"}\n' }
    const { code, stdout, stderr } = await interrupted(['import', '-', '--json'], { stdin })
    expect(JSON.parse(stdout)).toMatchObject({ loaded: true, outcome: 'unconfirmed', lines: 1 })
    expect({ code, stderr }).toEqual({ code: 4, stderr: `axport: all was loaded, ${NOT_CONFIRMED}\n` })
  })

  test('erase prints what it erased, as unconfirmed', async () => {
    const { code, stdout } = await interrupted(['erase', '501', '--yes', '--json'])
    expect(code).toBe(4)
    expect(JSON.parse(stdout)).toMatchObject({ erased: true, outcome: 'unconfirmed', assessments: 3 })
  })

  test('migrate says which step waits', async () => {
    const { code, stderr } = await interrupted(['migrate', '--time-zone', 'Europe/Berlin'])
    expect({ code, stderr }).toEqual({ code: 4, stderr: `axport: the time zone was set, ${NOT_CONFIRMED}\n` })
  })
})

test('an integration and its secret, a rotation and an erasure survive a crash right after they were reported, although synchronous_commit is off', async () => {
  await ask('alter database postgres set synchronous_commit = off')
  const { client_id: id } = JSON.parse(await succeed('integration', 'create', 'Kept', '--json'))
  await cluster.crash()
  await cluster.restart()
  expect((await ask(`select from integrations where client_id = '${id}'`)).count).toBe(1)
  await succeed('integration', 'rotate', id)
  await succeed('erase', '77', '--yes')
  await cluster.crash()
  await cluster.restart()
  const [row] = await ask(`
    select (select count(*) from integration_history where client_id = '${id}')::integer as events,
      exists (select from erasures where user_id = 77) as erased`)
  expect(row).toMatchObject({ erased: true })
  expect(row?.events).toBeGreaterThan(1)
})
