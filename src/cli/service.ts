import type { Logger } from 'pino'
import { databaseChecks } from '../admin/database-checks.ts'
import { Metrics } from '../admin/metrics.ts'
import { type Check, type Readiness, readinessOf } from '../admin/readiness.ts'
import { startHttpServer } from '../app/server.ts'
import { type Certificate, describeEnd, readCertificate } from '../app/tls.ts'
import { Standby } from '../assessments/standby.ts'
import { setting } from '../config.ts'
import { Counters } from '../counters.ts'
import { type Database, openStandby } from '../database/database.ts'
import { requirePrivileges, SERVE } from '../database/grants.ts'
import { Failure } from '../errors.ts'
import { readDisclosureState } from '../tables/disclosure-state.ts'
import { within } from '../timeouts.ts'
import { readLimits, SHUTDOWN_MS, SLOW_REQUEST_MS } from './limits.ts'
import { startPurging } from './purge.ts'
import { standbyLog, standbyUrl } from './standby.ts'
import { BUILD } from './version.ts'

/** Reads TLS_CERT_FILE and TLS_KEY_FILE; undefined if neither is set. @throws Failure if one is missing or wrong */
export function readTls(): Certificate | undefined {
  const certFile = setting('TLS_CERT_FILE')
  const keyFile = setting('TLS_KEY_FILE')
  if (certFile && keyFile) return readCertificate(certFile, keyFile)
  if (!certFile && !keyFile) return undefined
  const missing = certFile ? 'TLS_KEY_FILE' : 'TLS_CERT_FILE'
  throw new Failure(`${missing} is not set: set both of TLS_CERT_FILE and TLS_KEY_FILE, or none`)
}

/** Answers say "connection: close" for so long: otherwise a client could send into a connection that is closing. */
const MIN_DRAIN_MS = 100

export type Service = Awaited<ReturnType<typeof startService>>

/** Starts server and purge on their own pools; ends `database.sql`. @throws Failure for settings, privileges, address */
export async function startService(database: Database, log: Logger) {
  await requirePrivileges(database.sql, SERVE)
  const isRecording = (await readDisclosureState(database.sql))?.isOn === true
  const limits = readLimits()
  const pool = database.pool(limits.pool, log)
  // A connection is open before the first request needs one: to open it would take 12 of the 45 ms of a first page.
  pool.trouble().catch(() => {})
  const trustedProxies = setting('TRUSTED_PROXIES')
  const drainMs = Math.max(MIN_DRAIN_MS, setting('SHUTDOWN_DELAY') * 1000)
  const certificate = readTls()
  await database.sql.end({ timeout: 1 })

  let isStopping = false
  const counters = new Counters()
  const standby = startStandby(pool, counters, log)
  const checks: Check[] = [
    { name: 'service', run: async () => (isStopping ? 'it is stopping' : undefined) },
    ...databaseChecks(pool),
  ]
  const metrics = new Metrics({
    build: BUILD,
    counters,
    inFlight: () => server.inFlight(),
    database: pool,
    standby,
    certificate,
  })
  const onAnswered: Metrics['observe'] = answered => metrics.observe(answered)
  const options = { certificate, standby, slowMs: SLOW_REQUEST_MS, counters, trustedProxies, onAnswered }
  const address = { host: setting('HOST'), port: setting('PORT'), isShared: setting('SHARE_PORT') === 'on' }
  const server = startHttpServer(pool, log, address, limits.http, options)
  const stopPurging = startPurging(pool, { log, counters, isReadOnly: () => pool.checkReadOnly() })

  return {
    url: server.url,
    disclosures: isRecording ? 'on' : 'off',
    certificate: certificate && describeEnd(certificate),
    metrics: () => metrics.registry.metrics(),
    readiness: (): Promise<Readiness> => readinessOf(checks),

    /** Serves on for SHUTDOWN_DELAY, sends clients elsewhere, then closes the port: requests have SHUTDOWN_MS. */
    async end() {
      isStopping = true
      server.drain()
      await Bun.sleep(drainMs)
      const [cut] = await Promise.all([
        server.stop(SHUTDOWN_MS),
        // The purge may wait for a database that does not answer.
        within(SHUTDOWN_MS, stopPurging(), undefined),
      ])
      if (cut) log.warn({ requests: cut }, 'requests in flight took too long and are cut')
      await Promise.all([pool.close(), standby?.close()])
    },
  }
}

/** The standby that DATABASE_READ_URL names, for which the service does not wait; undefined if it is not set. */
function startStandby(primary: ReturnType<Database['pool']>, counters: Counters, log: Logger) {
  const url = standbyUrl()
  if (url === undefined) return undefined
  const named = standbyLog(log)
  const pool = openStandby(() => standbyUrl() ?? url, readLimits().pool, named)
  return new Standby(primary, pool, counters, named)
}
