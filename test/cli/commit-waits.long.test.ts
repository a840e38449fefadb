// Commands whose COMMIT waits for a standby that does not confirm it, or whose server crashes after it.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { cleanUp, type Running, runExecutable, start, TEST_TIMEOUT_MS } from '../support/executable.ts'
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
  await succeed('migrate', '--time-zone', 'UTC')
  await runExecutable(['import', '-'], { env, stdin: { text: ndjsonOf(WORLD) } })
})
afterAll(async () => {
  await cleanUp()
  await cluster.stop()
})

const ask = (text: string) => withConnection(cluster.url(), sql => sql.unsafe(text))

async function succeed(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runExecutable(args, { env })
  expect({ code, stderr }).toMatchObject({ code: 0 })
  return stdout
}

describe('while no standby confirms a COMMIT', () => {
  const waiting = () => ask(`select pid from pg_stat_activity where wait_event = 'SyncRep'`)
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

  /** Runs a command until its COMMIT waits for a standby. */
  async function untilItWaits(...args: string[]): Promise<Running> {
    const running = await start(args, { env })
    await until('the COMMIT waits', async () => (await waiting()).count > 0)
    return running
  }

  /** Ends the wait of the server, which has committed. */
  async function cancelWait(): Promise<void> {
    await ask(`select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`)
    await until('no COMMIT waits', async () => (await waiting()).count === 0)
  }

  test('a command waits, and succeeds when the wait of the server is cancelled', async () => {
    const running = await untilItWaits('integration', 'disable', clientId)
    expect(running.exitCode()).toBeUndefined()
    await cancelWait()
    expect(await running.finished).toEqual({ code: 0, stdout: `${clientId} is disabled now\n`, stderr: '' })
  })

  test('a signal ends a command, which prints a new secret and says that the outcome is not known', async () => {
    const running = await untilItWaits('integration', 'rotate', clientId, '--json')
    running.signal('SIGINT')
    const { code, stdout, stderr } = await running.finished
    expect(JSON.parse(stdout)).toMatchObject({ client_id: clientId, committed: null })
    expect({ code, stderr }).toEqual({
      code: 130,
      stderr: `axport: interrupted: it is not known whether the secret was replaced; axport integration show ${clientId} shows it\n`,
    })
    await cancelWait()
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
