import { setting } from '../config.ts'
import { type Counters, newCounters } from '../counters.ts'
import { Failure } from '../errors.ts'
import type { Address } from '../http/address.ts'
import { databaseChecks, exportVersion } from '../http/admin/database-checks.ts'
import { Metrics } from '../http/admin/metrics.ts'
import { type Check, type Readiness, readinessOf, within } from '../http/admin/readiness.ts'
import type { AdminView } from '../http/admin/server.ts'
import type { Log } from '../http/request-log.ts'
import { type Server, startServer } from '../http/server.ts'
import { type Certificate, readCertificate } from '../http/tls.ts'
import { startPurging } from '../oauth/purge.ts'
import type { Database } from '../postgres/database.ts'
import type { Pool } from '../postgres/pool.ts'
import { surviveCuts } from './last-resort.ts'
import { readLimits } from './limits.ts'
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
  private readonly limits = readLimits()
  private readonly certificate = readTls()
  private readonly pool: Pool
  readonly measured: Metrics
  private server: Server | undefined
  private stopPurging = async () => {}
  private state: 'starting' | 'serving' | 'stopping' = 'starting'
  // Read at the start: a wrong one must not be found at the end.
  private readonly slowMs = setting('SLOW_REQUEST_MS')
  private readonly delay = Math.max(LEAST_DELAY, setting('SHUTDOWN_DELAY') * 1000)
  private readonly patience = setting('SHUTDOWN_TIMEOUT') * 1000

  constructor(
    private readonly database: Database,
    private readonly log: Log,
  ) {
    this.pool = database.pool(this.limits.pool, log)
    this.checks = [
      { name: 'service', run: async () => (this.state === 'serving' ? undefined : `it is ${this.state}`) },
      ...databaseChecks(this.pool),
    ]
    this.measured = new Metrics({
      build: BUILD,
      counters: this.counters,
      inFlight: () => this.server?.inFlight() ?? 0,
      exportVersion: exportVersion(this.pool),
      pool: () => this.pool.stats(),
    })
  }

  /**
   * Starts to serve.
   * @returns the address as a URL
   * @throws Failure when it can not be listened on
   */
  listen(address: Address): string {
    surviveCuts(this.log)
    // Requests have connections of their own.
    this.database.sql.end({ timeout: 1 }).catch(() => {})
    this.server = startServer(this.pool, this.log, address, {
      limits: this.limits.http,
      certificate: this.certificate,
      slowMs: this.slowMs,
      counters: this.counters,
      onAnswered: answered => this.measured.observe(answered),
    })
    this.stopPurging = startPurging(this.pool, { log: this.log, counters: this.counters })
    this.state = 'serving'
    return this.server.url
  }

  /** Reads the certificate again; keeps the old one, and says why, when that fails. */
  reload(): void {
    try {
      const renewed = readTls()
      if (!this.certificate || !renewed) throw new Failure('TLS_CERT_FILE is not set')
      this.server?.renew(renewed)
      this.log.info({}, 'the certificate was read again')
    } catch (error) {
      const reason = (error as Error).message
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
    await this.pool.close()
    if (cut) this.log.warn({ requests: cut }, 'SHUTDOWN_TIMEOUT is over: requests in flight are cut')
  }

  async readiness(): Promise<Readiness> {
    return await readinessOf(this.checks)
  }

  async metrics(): Promise<string> {
    return await this.measured.text()
  }
}

/** Whether the port speaks HTTPS. */
export function isEncrypted(): boolean {
  return setting('TLS_CERT_FILE') !== undefined
}

function readTls(): Certificate | undefined {
  const certFile = setting('TLS_CERT_FILE')
  const keyFile = setting('TLS_KEY_FILE')
  if (certFile && keyFile) return readCertificate(certFile, keyFile)
  if (certFile || keyFile) {
    throw new Failure(
      `${certFile ? 'TLS_KEY_FILE' : 'TLS_CERT_FILE'} is not set: set both of TLS_CERT_FILE and TLS_KEY_FILE, or none`,
    )
  }
  return undefined
}
