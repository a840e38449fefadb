import type { Logger } from 'pino'
import { setting } from '../config.ts'
import { Counters } from '../counters.ts'
import { Failure } from '../errors.ts'
import type { Address } from '../http/address.ts'
import { databaseChecks } from '../http/admin/database-checks.ts'
import { Metrics, type MetricsJson } from '../http/admin/metrics.ts'
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
import { surviveCuts } from './process.ts'
import { readLimits, readTls } from './serve-settings.ts'
import { openReplicas } from './standbys.ts'
import { BUILD } from './version.ts'

/**
 * The least time between the signal and the closed port. Meanwhile answers say "connection: close": otherwise a client
 * could send a request into a connection that is being closed.
 */
const MIN_DRAIN_MS = 100

/** A process that serves: the HTTP server, the purge of expired tokens, and what operators see of both. */
export class Service implements AdminView {
  private readonly counters = new Counters()
  private readonly checks: Check[]
  private readonly measured: Metrics
  private server: Server | undefined
  private stopPurging = async () => {}
  private state: 'starting' | 'serving' | 'stopping' = 'starting'
  // Settings are read at the start: a wrong one must not be found at the end.
  private readonly slowMs = setting('SLOW_REQUEST_MS')
  private readonly trustedProxies = setting('TRUSTED_PROXIES')
  private readonly drainMs = Math.max(MIN_DRAIN_MS, setting('SHUTDOWN_DELAY') * 1000)
  private readonly timeoutMs = setting('SHUTDOWN_TIMEOUT') * 1000
  private readonly certificate = readTls()

  private constructor(
    private readonly pool: ServingDatabase,
    private readonly replicas: Replicas | undefined,
    private readonly log: Logger,
    /** Whether answers were recorded when the service was opened. */
    readonly disclosures: 'on' | 'off',
  ) {
    this.checks = [
      { name: 'service', run: async () => (this.state === 'serving' ? undefined : `it is ${this.state}`) },
      ...databaseChecks(pool, replicas, disclosures === 'on'),
    ]
    const { counters } = this
    const inFlight = () => this.server?.inFlight() ?? 0
    this.measured = new Metrics({ build: BUILD, counters, inFlight, pool, replicas })
  }

  /**
   * Opens the service on a database with a usable schema. Ends its `sql`: requests use a pool of their own.
   * @throws Failure for wrong settings, or a role without the privileges to serve
   */
  static async open(database: Database, log: Logger): Promise<Service> {
    await requirePrivileges(database.sql, SERVE)
    const disclosures = (await readDisclosing(database.sql))?.isOn === true ? 'on' : 'off'
    const { pool: bounds } = readLimits()
    const pool = database.pool(bounds, log)
    const replicas = await openReplicas(database, pool, bounds, log)
    const service = new Service(pool, replicas, log, disclosures)
    surviveCuts(log)
    await database.sql.end({ timeout: 1 })
    return service
  }

  /**
   * Starts to serve.
   * @returns the URL
   * @throws Failure if the address cannot be listened on
   */
  listen(address: Address): string {
    const { pool, replicas, log, certificate, slowMs, counters, trustedProxies } = this
    const onAnswered: Metrics['observe'] = answered => this.measured.observe(answered)
    const options = { certificate, replicas, slowMs, counters, trustedProxies, onAnswered }
    this.server = startServer(pool, log, address, readLimits().http, options)
    this.stopPurging = startPurging(pool, { log, counters, isReadOnly: () => pool.checkReadOnly() })
    this.state = 'serving'
    return this.server.url
  }

  /** Reads the certificate again. If that fails, the old one stays, and the log says why. */
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
   * Ends the service: for SHUTDOWN_DELAY it goes on to serve, and asks clients to connect elsewhere; then it closes the
   * port, and requests in flight have SHUTDOWN_TIMEOUT to finish.
   */
  async end(): Promise<void> {
    this.state = 'stopping'
    this.server?.drain()
    await Bun.sleep(this.drainMs)
    const [cut] = await Promise.all([
      this.server?.stop(this.timeoutMs),
      // The purge may wait for a database that does not answer.
      within(this.timeoutMs, this.stopPurging(), undefined),
    ])
    if (cut) this.log.warn({ requests: cut }, 'SHUTDOWN_TIMEOUT is over: requests in flight are cut')
    await Promise.all([this.pool.close(), this.replicas?.close()])
  }

  async readiness(): Promise<Readiness> {
    const readiness = await readinessOf(this.checks)
    return this.replicas ? { ...readiness, readers: this.replicas.readers() } : readiness
  }

  async metrics(): Promise<string> {
    return await this.measured.registry.metrics()
  }

  /** The metrics as data, for the supervisor. */
  async metricsJson(): Promise<MetricsJson> {
    return await this.measured.registry.getMetricsAsJSON()
  }
}
