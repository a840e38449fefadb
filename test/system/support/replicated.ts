import { randomBytes } from 'node:crypto'
import type { Sql } from 'postgres'
import { openDatabase } from '../../../src/database/database.ts'
import { grantFor, SERVE } from '../../../src/database/grants.ts'
import { migrate } from '../../../src/database/migrate.ts'
import { createIntegration } from '../../../src/integrations/credentials.ts'
import { assessment, ORGANIZATION, PRODUCT, range, world } from '../../support/fixtures.ts'
import type { Credentials } from '../../support/http.ts'
import { type OwnCluster, startCluster } from '../../support/own-cluster.ts'
import { load } from '../../support/service.ts'
import { withConnection } from '../../support/with-connection.ts'

/** The role of the service, which is no superuser. */
const ROLE = 'axport_serve'

const FIRST = 9001
export const RECORDS = 60

/** A primary with a streaming standby, and an integration that may read all records. */
export interface Replicated {
  primary: OwnCluster
  standby: OwnCluster
  credentials: Credentials
  /** DATABASE_URL and DATABASE_READ_URL. */
  env: Record<string, string>
  stop(): Promise<void>
}

export async function startReplicated(): Promise<Replicated> {
  // A standby asks for more WAL after 100 ms, and its replay cancels no statements.
  const settings = { wal_retrieve_retry_interval: '100ms', hot_standby_feedback: 'on' }
  const primary = await startCluster({ settings })
  const password = randomBytes(16).toString('hex')
  const { sql, close } = await openDatabase(primary.url(), 2)
  await migrate(sql)
  await sql.unsafe(`create role ${ROLE} login password '${password}'`)
  await grantFor(sql, ROLE, SERVE)
  await load(sql, [...world(), ...range(RECORDS, at => assessment(FIRST + at))])
  const credentials = await createIntegration(sql, 'Walk', [String(ORGANIZATION)], [String(PRODUCT)])
  await close()
  const standby = await primary.startStandby()
  const urlOf = (cluster: OwnCluster) =>
    `postgres://${ROLE}:${password}@${new URL(cluster.url()).host}/postgres`
  return {
    primary,
    standby,
    credentials,
    env: { DATABASE_URL: urlOf(primary), DATABASE_READ_URL: urlOf(standby) },
    stop: async () => {
      await standby.stop()
      await primary.stop()
    },
  }
}

/** Calls `work` with a new connection of the superuser to a server. */
export const on = <Result>(cluster: OwnCluster, work: (sql: Sql) => PromiseLike<Result>): Promise<Result> =>
  withConnection(cluster.url(), work)
