import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { Counters } from '../../src/counters.ts'
import { Reading } from '../../src/http/reading.ts'
import { readPostgresUrl } from '../../src/postgres/connection/url.ts'
import { openingOf } from '../../src/postgres/database.ts'
import { DatabaseUnavailable } from '../../src/postgres/failures.ts'
import { ServingDatabase } from '../../src/postgres/pool/serving-database.ts'
import { Standbys } from '../../src/postgres/standby/standbys.ts'
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
let db: ServingDatabase
let standbys: Standbys
let reading: Reading

beforeAll(async () => {
  // Replay ends conflicting reads at once.
  primary = await startCluster({ settings: { max_standby_streaming_delay: '0' } })
  await withConnection(primary.url(), sql => sql`create table t as select 1 as n`)
  standby = await primary.startStandby()
  const opening = (cluster: OwnCluster) => openingOf(() => readPostgresUrl(cluster.url()), BOUNDS, NO_LOG)
  db = new ServingDatabase(opening(primary), BOUNDS, NO_LOG)
  const servers = [{ name: 'standby', open: opening(standby) }]
  const options = { servers, primary: opening(primary), bounds: BOUNDS, maxLagMs: 60_000, log: NO_LOG }
  standbys = await Standbys.open(options)
  reading = new Reading(db, standbys, new Counters())
})
afterAll(async () => {
  await standbys?.close()
  await db?.close()
  await standby?.stop()
  await primary?.stop()
})
beforeEach(() => until('the standby is read from', () => standbys.all.every(({ why }) => why === undefined)))

const PLAIN = { prepare: false }

/** Reads in one transaction. @returns on which servers it ran */
async function serversOf(between: (lease: Lease, run: number) => Promise<unknown>): Promise<string[]> {
  const ran: string[] = []
  const requester = { ...PATIENT, deadline: performance.now() + 60_000 }
  const { body } = await reading.answer(requester, sha256('a token'), leases =>
    leases.lease(async lease => {
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
  const moved = standbys.moved.trouble
  const ran = await serversOf(async (_, run) => {
    if (run > 1) return
    await conflict()
    const connections = () => [...(standbys.all[0]?.database.pool.connections ?? [])]
    await until('the standby has ended the connection', () => connections().length === 0)
  })
  expect(ran).toEqual(['standby', 'primary'])
  expect(standbys.moved.trouble).toBe(moved + 1)
})

test('a read whose later statement is cancelled by replay moves to another server as a whole', async () => {
  const moved = standbys.moved.trouble
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
  expect(standbys.moved.trouble).toBe(moved + 1)
})

test('a read moves to another server only while its request has time left for a repetition', async () => {
  /** How many servers are asked if the first one is lost when the request has so many milliseconds left. */
  const asked = async (leftMs: number) => {
    let servers = 0
    const requester = { ...PATIENT, deadline: performance.now() + leftMs }
    const answer = await reading
      .answer(requester, sha256('a token'), async () => {
        if (++servers === 1) throw new DatabaseUnavailable('the connection was cut')
        return { status: 200, headers: {}, body: [] }
      })
      .catch((error: unknown) => error)
    return [servers, answer instanceof DatabaseUnavailable]
  }
  expect(await asked(60_000)).toEqual([2, false])
  // A second to end a lease, and half a second to read.
  expect(await asked(1400)).toEqual([1, true])
})
