import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { Counters } from '../../src/counters.ts'
import { Reading } from '../../src/http/reading.ts'
import { readPostgresUrl } from '../../src/postgres/connection/url.ts'
import { openingOf } from '../../src/postgres/database.ts'
import { ServingDatabase } from '../../src/postgres/pool/serving-database.ts'
import { Replicas } from '../../src/postgres/standby/replicas.ts'
import type { Lease } from '../../src/postgres/statement.ts'
import { sha256 } from '../../src/random.ts'
import { type OwnCluster, startCluster } from '../support/cluster.ts'
import { NO_LOG, ONE, PATIENT } from '../support/lease.ts'
import { until } from '../support/until.ts'
import { withConnection } from '../support/with-connection.ts'

setDefaultTimeout(120_000)

const BOUNDS = { ...ONE, statementMs: 60_000 }

let primary: OwnCluster
let standby: OwnCluster
let pool: ServingDatabase
let replicas: Replicas
let reading: Reading

beforeAll(async () => {
  // Replay ends conflicting reads at once.
  primary = await startCluster({ settings: { max_standby_streaming_delay: '0' } })
  await withConnection(primary.url(), sql => sql`create table t as select 1 as n`)
  standby = await primary.startStandby()
  const opening = (cluster: OwnCluster) => openingOf(() => readPostgresUrl(cluster.url()), BOUNDS, NO_LOG)
  pool = new ServingDatabase(opening(primary), BOUNDS, NO_LOG)
  const servers = [{ name: 'standby', open: opening(standby) }]
  const options = { servers, primary: opening(primary), bounds: BOUNDS, maxLagMs: 60_000, log: NO_LOG }
  replicas = await Replicas.open(options)
  reading = new Reading(pool, replicas, new Counters())
})
afterAll(async () => {
  await replicas?.close()
  await pool?.close()
  await standby?.stop()
  await primary?.stop()
})
beforeEach(() =>
  until('the standby is read from', () => replicas.standbys.every(({ why }) => why === undefined)),
)

const PLAIN = { prepare: false }

/** Reads in one transaction. @returns on which servers it ran */
async function serversOf(between: (lease: Lease, run: number) => Promise<unknown>): Promise<string[]> {
  const ran: string[] = []
  const { body } = await reading.answer(PATIENT, sha256('a token'), db =>
    db.lease(async lease => {
      lease.begin()
      const where = `select n, pg_is_in_recovery() as "isStandby" from t`
      const [row] = (await lease.unsafe(where, [], PLAIN)) as { isStandby: boolean }[]
      ran.push(row?.isStandby ? 'standby' : 'primary')
      await between(lease, ran.length)
      const [rows] = await Promise.all([lease.unsafe('select n from t', [], PLAIN), lease.commit()])
      return { status: 200, headers: {}, body: [JSON.stringify(rows)] }
    }),
  )
  expect(body).toEqual(['[{"n":1}]'])
  return ran
}

/** Replay of this on the standby conflicts with every transaction that has read the table. */
const conflict = () =>
  withConnection(primary.url(), sql => sql.unsafe('begin; lock table t in access exclusive mode; commit'))

test('a read whose transaction is idle when replay conflicts with it moves to another server as a whole', async () => {
  const moved = replicas.moved.trouble
  const ran = await serversOf(async (_, run) => {
    if (run > 1) return
    await conflict()
    const connections = () => [...(replicas.standbys[0]?.pool.connections ?? [])]
    await until('the standby has ended the connection', () => connections().length === 0)
  })
  expect(ran).toEqual(['standby', 'primary'])
  expect(replicas.moved.trouble).toBe(moved + 1)
})

test('a read whose later statement is cancelled by replay moves to another server as a whole', async () => {
  const moved = replicas.moved.trouble
  const ran = await serversOf(async (lease, run) => {
    if (run > 1) return
    const late = lease.unsafe('select pg_sleep(60)', [], PLAIN)
    const isAsleep = () =>
      withConnection(standby.url(), sql => sql`select from pg_stat_activity where wait_event = 'PgSleep'`)
    await until('it sleeps', async () => (await isAsleep()).length === 1)
    await conflict()
    await late
  })
  expect(ran).toEqual(['standby', 'primary'])
  expect(replicas.moved.trouble).toBe(moved + 1)
})
