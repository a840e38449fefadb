import type { Logger } from 'pino'
import { setting } from '../config.ts'
import { type Counters, newCounters } from '../counters.ts'
import { Failure } from '../errors.ts'
import type { Address } from '../http/address.ts'
import { databaseChecks, exportVersion, lastImport } from '../http/admin/database-checks.ts'
import { Metrics } from '../http/admin/metrics.ts'
import { type Check, type Readiness, readinessOf } from '../http/admin/readiness.ts'
import type { AdminView } from '../http/admin/server.ts'
import { type Server, startServer } from '../http/server.ts'
import { startPurging } from '../oauth/purge.ts'
import type { Database } from '../postgres/database.ts'
import { readDisclosing } from '../postgres/disclosing.ts'
import type { ServingDatabase } from '../postgres/pool/serving-database.ts'
import { requirePrivileges } from '../postgres/privileges/compare.ts'
import { SERVE } from '../postgres/privileges/purposes.ts'
import type { Replicas } from '../postgres/standby/replicas.ts'
import { within } from '../within.ts'
import { readTls } from './certificate.ts'
import { surviveCuts } from './last-resort.ts'
import { readLimits } from './limits.ts'
import { openReplicas } from './standbys.ts'
import { BUILD } from './version.ts'

/**
 * Milliseconds of serving on at least: clients that are busy on open connections learn by an answer that they
 * are to connect again, and do not send into a connection that is just being closed.
 */
const LEAST_DELAY = 100

/** What a process that serves is made of: the HTTP service, the purge, and what operators see of both. */
export class Service implements AdminView {
  private readonly counters: Counters = newCounters()
  private readonly checks: Check[]
  readonly measured: Metrics
  /** Whether answers were recorded when it was opened. */
  disclosures: 'on' | 'off' = 'off'
  private server: Server | undefined
  private stopPurging = async () => {}
  private state: 'starting' | 'serving' | 'stopping' = 'starting'
  // Read at the start: a wrong one must not be found at the end.
  private readonly slowMs = setting('SLOW_REQUEST_MS')
  private readonly trustedProxies = setting('TRUSTED_PROXIES')
  private readonly delay = Math.max(LEAST_DELAY, setting('SHUTDOWN_DELAY') * 1000)
  private readonly patience = setting('SHUTDOWN_TIMEOUT') * 1000
  private readonly certificate = readTls()

  private constructor(
    private readonly pool: ServingDatabase,
    private readonly replicas: Replicas | undefined,
    private readonly limits: ReturnType<typeof readLimits>,
    private readonly log: Logger,
    isRecording: boolean,
  ) {
    this.checks = [
      { name: 'service', run: async () => (this.state === 'serving' ? undefined : `it is ${this.state}`) },
      ...databaseChecks(pool, replicas, isRecording),
    ]
    this.measured = new Metrics({
      build: BUILD,
      counters: this.counters,
      inFlight: () => this.server?.inFlight() ?? 0,
      exportVersion: exportVersion(pool),
      lastImport: lastImport(pool),
      pool: () => statsOf([pool, ...(replicas?.standbys ?? []).map(standby => standby.pool)]),
      shortages: () => pool.availability.shortages,
      replicas,
    })
  }

  /**
   * On a database whose schema is current. Its `sql` is ended: requests have connections of their own.
   * @throws Failure for wrong settings, or a role that may not do what serving needs
   */
  static async open(database: Database, log: Logger): Promise<Service> {
    await requirePrivileges(database.sql, SERVE)
    const state = await readDisclosing(database.sql)
    const limits = readLimits()
    const pool = database.pool(limits.pool, log)
    const replicas = await openReplicas(database, pool, limits.pool, log)
    const isRecording = state?.isOn === true
    const service = new Service(pool, replicas, limits, log, isRecording)
    service.disclosures = isRecording ? 'on' : 'off'
    surviveCuts(log)
    await database.sql.end({ timeout: 1 })
    return service
  }

  /**
   * Starts to serve.
   * @returns the address as a URL
   * @throws Failure when it cannot be listened on
   */
  listen(address: Address): string {
    const { pool, replicas, log, limits, certificate, slowMs, counters, trustedProxies } = this
    const onAnswered: Metrics['observe'] = answered => this.measured.observe(answered)
    const options = { certificate, replicas, slowMs, counters, trustedProxies, onAnswered }
    this.server = startServer(pool, log, address, limits.http, options)
    this.stopPurging = startPurging(pool, { log, counters, isReadOnly: () => pool.checkReadOnly() })
    this.state = 'serving'
    return this.server.url
  }

  /** Reads the certificate again; keeps the old one, and says why, when that fails. */
  reload(): void {
    if (!this.certificate) {
      this.log.info({}, 'SIGHUP: there is no certificate to read again')
      return
    }
    try {
      const renewed = readTls()
      if (!renewed) throw new Failure('TLS_CERT_FILE and TLS_KEY_FILE are not set any more')
      this.server?.renew(renewed)
      this.log.info({}, 'the certificate was read again')
    } catch (error) {
      const { message: reason } = error as Error
      this.log.error({ reason }, 'the certificate could not be read again; the old one stays')
    }
  }

  /**
   * Ends it without cutting what was accepted: serves on for SHUTDOWN_DELAY, each answer asking its client to
   * connect elsewhere; then accepts no more and finishes what is in flight, for SHUTDOWN_TIMEOUT at most.
   */
  async end(): Promise<void> {
    this.state = 'stopping'
    this.server?.drain()
    await Bun.sleep(this.delay)
    const [cut] = await Promise.all([
      this.server?.stop(this.patience),
      // A batch that the database does not answer is not waited for either.
      within(this.patience, this.stopPurging(), undefined),
    ])
    if (cut) this.log.warn({ requests: cut }, 'SHUTDOWN_TIMEOUT is over: requests in flight are cut')
    await Promise.all([this.pool.close(), this.replicas?.close()])
  }

  async readiness(): Promise<Readiness> {
    const readiness = await readinessOf(this.checks)
    return this.replicas ? { ...readiness, readers: this.replicas.readers() } : readiness
  }

  async metrics(): Promise<string> {
    return await this.measured.text()
  }
}

/** Of several pools as of one. */
function statsOf(pools: ServingDatabase[]): ReturnType<ServingDatabase['stats']> {
  const sum = { inUse: 0, idle: 0, waiting: 0 }
  for (const pool of pools) {
    const { inUse, idle, waiting } = pool.stats()
    Object.assign(sum, { inUse: sum.inUse + inUse, idle: sum.idle + idle, waiting: sum.waiting + waiting })
  }
  return sum
}
