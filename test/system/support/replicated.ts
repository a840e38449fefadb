import { randomBytes } from 'node:crypto'
import type { Sql } from 'postgres'
import { createIntegration } from '../../../src/integrations/credentials.ts'
import { openDatabase } from '../../../src/postgres/database.ts'
import { grantFor } from '../../../src/postgres/privileges/grant.ts'
import { SERVE } from '../../../src/postgres/privileges/purposes.ts'
import { migrate } from '../../../src/postgres/schema/migrate.ts'
import { ranked } from '../../../src/postgres/standby/standbys.ts'
import { sha256 } from '../../../src/random.ts'
import { type OwnCluster, startCluster } from '../../support/cluster.ts'
import { assessment, ORGANIZATION, PRODUCT, range, world } from '../../support/fixtures.ts'
import { type Credentials, newToken } from '../../support/http.ts'
import { load } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { withConnection } from '../../support/with-connection.ts'

/** The role of the service, which is no superuser. */
const ROLE = 'axport_serve'

const FIRST = 9001
export const COUNT = 500
/** The ids in the order of a walk. All assessments were completed on one day. */
export const IDS = Array.from({ length: COUNT }, (_, at) => FIRST + at)

/** A primary with two streaming standbys, and an impostor: a server of another cluster with the same role. */
export interface Replicated {
  primary: OwnCluster
  first: OwnCluster
  second: OwnCluster
  impostor: OwnCluster
  credentials: Credentials
  /** DATABASE_URL, and DATABASE_READ_URL with the standbys and the impostor. */
  env: Record<string, string>
  stop(): Promise<void>
}

/** The name of a server in DATABASE_READ_URL. */
export const nameOf = (cluster: OwnCluster) => new URL(cluster.url()).host

/** Starts the servers, with COUNT records that an integration may read. */
export async function startReplicated(): Promise<Replicated> {
  // Replay cancels conflicting statements at once, and requests further WAL after 100 ms.
  const settings = { max_standby_streaming_delay: '0', wal_retrieve_retry_interval: '100ms' }
  const primary = await startCluster({ settings })
  const password = randomBytes(16).toString('hex')
  const role = `create role ${ROLE} login password '${password}'`
  const credentials = await fill(primary, role)
  const first = await primary.startStandby()
  const second = await primary.startStandby()
  // Clusters of one locale are copies with one system identifier, so the impostor needs another locale.
  const impostor = await startCluster({ locale: 'C.UTF-8' })
  await on(impostor, sql => sql.unsafe(role))
  const hosts = [first, second, impostor].map(nameOf).join(',')
  const env = {
    DATABASE_URL: `postgres://${ROLE}:${password}@${nameOf(primary)}/postgres`,
    DATABASE_READ_URL: `postgres://${ROLE}:${password}@${hosts}/postgres`,
  }
  const stop = async () => {
    for (const cluster of [first, second, impostor, primary]) await cluster.stop()
  }
  return { primary, first, second, impostor, credentials, env, stop }
}

async function fill(primary: OwnCluster, role: string): Promise<Credentials> {
  const { sql, close } = await openDatabase(primary.url(), 2)
  await migrate(sql)
  await sql.unsafe(role)
  await grantFor(sql, ROLE, SERVE)
  await load(sql, [...world(), ...range(COUNT, at => assessment(FIRST + at))])
  const credentials = await createIntegration(sql, 'Walk', [String(ORGANIZATION)], [String(PRODUCT)])
  await close()
  return credentials
}

/** Calls `work` with a new connection of the superuser to a server. */
export const on = <Result>(cluster: OwnCluster, work: (sql: Sql) => PromiseLike<Result>): Promise<Result> =>
  withConnection(cluster.url(), work)

/** Waits until both standbys have replayed everything that the primary has written. */
export async function caughtUp({ primary, first, second }: Replicated): Promise<void> {
  const [row] = await on(
    primary,
    sql => sql<{ at: string }[]>`select pg_current_wal_insert_lsn()::text as at`,
  )
  for (const standby of [first, second]) {
    const has = () =>
      on(standby, sql => sql`select where pg_last_wal_replay_lsn() >= ${row?.at as string}::text::pg_lsn`)
    await until('a standby has caught up', async () => (await has()).length === 1)
  }
}

/** Requests tokens until one has this standby as its preferred reader. */
export async function tokenOf(
  url: string,
  credentials: Credentials,
  standby: OwnCluster,
  { first, second }: Replicated,
): Promise<string> {
  const servers = [first, second].map(cluster => ({
    cluster,
    seed: Bun.hash(nameOf(cluster)) as bigint,
  }))
  for (;;) {
    const token = await newToken(url, credentials)
    if (ranked(sha256(token), servers)[0]?.cluster === standby) return token
  }
}
