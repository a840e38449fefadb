import pino, { type Logger } from 'pino'
import pretty from 'pino-pretty'
import { databaseUrl, setting } from '../config.ts'
import { Failure } from '../errors.ts'
import type { CheckResult, Readiness } from '../http/admin/readiness.ts'
import type { AdminView } from '../http/admin/server.ts'
import { type Database, openDatabase } from '../postgres/database.ts'
import { passingReason } from '../postgres/failures.ts'
import { requireUsableSchema } from '../postgres/schema/schema-record.ts'
import { within } from '../within.ts'
import { terminated } from './process.ts'
import { readLimits, readTls, startAdmin } from './serve-settings.ts'
import { startService } from './service.ts'
import { standbyServers } from './standbys.ts'

/** Serves DATABASE_URL until a signal. */
export async function serveAlone(): Promise<void> {
  standbyServers()
  await ServingProcess.run(serving => serving.withDatabase(database => serveOn(database, serving)))
}

/** Serves a database until a signal; `onListening` gets the URL. */
export async function serve(database: Database, onListening: (url: string) => Promise<void>): Promise<void> {
  await ServingProcess.run(serving => serveOn(database, serving, onListening))
}

async function serveOn(
  database: Database,
  serving: ServingProcess,
  onListening: (url: string) => Promise<void> = async () => {},
): Promise<void> {
  const { log, signalled, admin } = serving
  if (database.isGuest)
    throw new Failure(
      'another process holds the embedded database, which ends with that process: stop that process first',
    )
  const service = await startService(database, log, { host: setting('HOST'), port: setting('PORT') })
  serving.service = service
  const { url, disclosures } = service
  log.info({ url, admin: admin?.url, database: database.kind, disclosures }, 'listening')
  await onListening(url)
  log.info({ signal: await signalled }, 'stopping')
  await service.end()
}

/** Between two attempts to open the database. */
const RETRY_INTERVAL_MS = 500

/** A process that serves: its log, its signals, and the operator's port, which answers before the database does. */
export class ServingProcess implements AdminView {
  readonly log = createLog()
  /** Resolves with the name of the signal that ends the process. Set up first: a signal may follow at once. */
  readonly signalled = terminated()
  readonly admin = startAdmin(this)
  /** The service, once it is open: until then operators see that it is starting. SIGHUP reloads it. */
  service: (AdminView & { reload(): void }) | undefined
  /** Why the database cannot be opened yet. */
  private unavailable: string | undefined

  /** Runs work that serves. @throws Failure for wrong settings, or an ADMIN_PORT that cannot be listened on */
  static async run(work: (serving: ServingProcess) => Promise<unknown>): Promise<void> {
    // Wrong settings must be found before the wait for the database.
    readLimits()
    readTls()
    setting('DATABASE_START_WAIT')
    const serving = new ServingProcess()
    process.on('SIGHUP', () => serving.service?.reload())
    try {
      await work(serving)
    } finally {
      await serving.admin?.stop()
    }
  }

  /**
   * Opens DATABASE_URL with a schema to serve from, and runs `work`; returns undefined if a signal comes first.
   * @throws Failure at once for an error that only a person can correct; after DATABASE_START_WAIT for any other
   */
  async withDatabase<Result>(work: (database: Database) => Promise<Result>): Promise<Result | undefined> {
    const database = await Promise.race([this.open(), this.signalled.then(() => undefined)])
    if (!database) {
      this.log.info({ signal: await this.signalled }, 'stopping')
      return undefined
    }
    try {
      await requireUsableSchema(database.sql)
      return await work(database)
    } finally {
      await database.close()
    }
  }

  /** @returns undefined if a signal came between two attempts */
  private async open(): Promise<Database | undefined> {
    const timeoutMs = setting('DATABASE_START_WAIT')
    const start = performance.now()
    do {
      try {
        const database = await openDatabase(databaseUrl, setting('DATABASE_POOL_SIZE'))
        if (this.unavailable !== undefined) this.log.info({}, 'the database is there')
        this.unavailable = undefined
        return database
      } catch (error) {
        const reason = passingReason(error)
        if (reason === undefined || performance.now() - start >= timeoutMs) throw error
        if (this.unavailable === undefined)
          this.log.warn({ reason, seconds: timeoutMs / 1000 }, 'waiting for the database')
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

/**
 * A log of JSON lines on standard output, each with the fields of `base`; readable lines on a terminal. It writes
 * synchronously, so that no line is lost at the end, and each line at once, so that lines of workers do not mix.
 */
export function createLog(base: Record<string, unknown> | null = null): Logger {
  const destination = process.stdout.isTTY
    ? pretty({ destination: 1, sync: true, singleLine: true, translateTime: 'SYS:HH:MM:ss.l' })
    : pino.destination({ fd: 1, sync: true })
  return pino({ level: setting('LOG_LEVEL'), base, timestamp: pino.stdTimeFunctions.isoTime }, destination)
}
