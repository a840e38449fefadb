import pino, { type Logger } from 'pino'
import pretty from 'pino-pretty'
import type { CheckResult, Readiness } from '../admin/readiness.ts'
import { type AdminView, startAdminServer } from '../admin/server.ts'
import { databaseUrl, setting } from '../config.ts'
import { type Database, openDatabase } from '../database/database.ts'
import { passingReason } from '../database/failures.ts'
import { requireUsableSchema } from '../database/schema-record.ts'
import { requireFiringTriggers } from '../database/triggers.ts'
import { Interruption } from '../interruption.ts'
import { within } from '../timeouts.ts'
import { terminated } from './process.ts'
import { type Service, startService } from './service.ts'
import { requireSettings } from './setting-problems.ts'

/** For the database to be reached at the start; then the service manager starts the service again. */
const START_WAIT_MS = 30_000

/** Between two attempts to open the database. */
const RETRY_INTERVAL_MS = 500

/** A process that serves: its log, its signals, and the operator's port, which answers before the database does. */
export class ServingProcess implements AdminView {
  private readonly log: Logger
  /** Resolves with the name of the signal that ends the process. Set up first: a signal may follow at once. */
  private readonly signalled = terminated()
  private readonly admin: ReturnType<typeof startAdmin>
  /** The service, once it is open: until then operators see that it is starting. */
  private service: AdminView | undefined
  /** Why the database cannot be opened yet. */
  private unavailable: string | undefined

  /**
   * @param readUrl reads DATABASE_URL, unless the database is another one
   * @throws Failure for wrong settings, or an ADMIN_PORT that cannot be listened on
   */
  constructor(readUrl?: () => unknown) {
    // Wrong settings must be found before the wait for the database.
    requireSettings(readUrl)
    this.log = createLog()
    this.admin = startAdmin(this)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.admin?.stop()
  }

  /** Serves a database until a signal; `onListening` gets the URL. */
  async serve(database: Database, onListening?: (url: string) => Promise<void>): Promise<void> {
    await this.serveUntilSignalled(await startService(database, this.log), onListening)
  }

  /** Serves DATABASE_URL until a signal. Errors that may pass become a Failure only after START_WAIT_MS. */
  async run(): Promise<void> {
    const interruption = new Interruption()
    const started = await Promise.race([this.start(interruption), this.signalled.then(() => undefined)])
    if (started) return await this.serveUntilSignalled(started)
    // The start may wait for a lock: its statement ends with its connection.
    interruption.request()
    this.log.info({ signal: await this.signalled }, 'stopping')
  }

  private async serveUntilSignalled(
    service: Service,
    onListening?: (url: string) => Promise<void>,
  ): Promise<void> {
    const { log, admin } = this
    this.service = service
    const { url, disclosures, certificate } = service
    log.info({ url, admin: admin?.url, disclosures, certificate }, 'listening')
    await onListening?.(url)
    log.info({ signal: await this.signalled }, 'stopping')
    await service.end()
  }

  /** @returns undefined if a signal came between two attempts to open the database */
  private async start(interruption: Interruption): Promise<Service | undefined> {
    const database = await this.open(interruption)
    try {
      if (!database) return undefined
      await requireUsableSchema(database.sql)
      await requireFiringTriggers(database.sql, 'the service does not start')
      return await startService(database, this.log)
    } finally {
      await database?.close()
    }
  }

  /** @returns undefined if a signal came between two attempts */
  private async open(interruption: Interruption): Promise<Database | undefined> {
    const start = performance.now()
    do {
      try {
        const database = await openDatabase(databaseUrl, setting('DATABASE_POOL_SIZE'), interruption)
        if (this.unavailable !== undefined) this.log.info({}, 'the database is there')
        this.unavailable = undefined
        return database
      } catch (error) {
        const reason = passingReason(error)
        if (reason === undefined || performance.now() - start >= START_WAIT_MS) throw error
        if (this.unavailable === undefined)
          this.log.warn({ reason, seconds: START_WAIT_MS / 1000 }, 'waiting for the database')
        this.unavailable = reason
      }
    } while (!(await within(RETRY_INTERVAL_MS, this.signalled, undefined)))
    return undefined
  }

  async readiness(): Promise<Readiness> {
    if (this.service) return await this.service.readiness()
    const service: CheckResult = { check: 'service', status: 'wrong', detail: 'it is starting' }
    const database: CheckResult = this.unavailable
      ? { check: 'database', status: 'wrong', detail: this.unavailable }
      : { check: 'database', status: 'skipped' }
    return { ready: false, checks: [service, database] }
  }

  async metrics(): Promise<string> {
    return (await this.service?.metrics()) ?? ''
  }
}

/** Starts the operator's server if ADMIN_PORT is set. @throws Failure if the port cannot be listened on */
function startAdmin(view: AdminView) {
  const port = setting('ADMIN_PORT')
  if (port === undefined) return undefined
  return startAdminServer({ host: setting('ADMIN_HOST'), port, prefix: 'ADMIN_' }, view)
}

/** A log of JSON lines, readable on a terminal. Each is written at once: none is lost at the end. */
function createLog(): Logger {
  const destination = process.stdout.isTTY
    ? pretty({ destination: 1, sync: true, singleLine: true, translateTime: 'SYS:HH:MM:ss.l' })
    : pino.destination({ fd: 1, sync: true })
  return pino(
    { level: setting('LOG_LEVEL'), base: null, timestamp: pino.stdTimeFunctions.isoTime },
    destination,
  )
}
