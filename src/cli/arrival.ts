import type { Logger } from 'pino'
import { databaseUrl, setting } from '../config.ts'
import type { CheckResult, Readiness } from '../http/admin/readiness.ts'
import type { AdminView } from '../http/admin/server.ts'
import { type Database, openDatabase } from '../postgres/database.ts'
import { passingReason } from '../postgres/failures.ts'
import { requireUsableSchema } from '../postgres/schema/schema-record.ts'
import { within } from '../within.ts'

/** Milliseconds between two attempts to open the database. */
const PAUSE = 500

/** What operators see of a service: until its database is there, that it starts; and then the service itself. */
export class Arrival implements AdminView {
  #view: AdminView | undefined
  /** Why the database cannot be opened yet. */
  #reason: string | undefined
  readonly #patience = setting('DATABASE_START_WAIT')

  /** @param signalled resolves with the name of the signal that asks the process to end */
  constructor(
    private readonly log: Logger,
    private readonly signalled: Promise<string>,
  ) {}

  /**
   * Runs `work` on DATABASE_URL as soon as the database is there, with a schema to serve from, and closes it in the end.
   * @returns undefined when a signal came first, and nothing was run
   * @throws Failure at once for what somebody has to mend; after DATABASE_START_WAIT for what might have passed
   */
  async withDatabase<Result>(work: (database: Database) => Promise<Result>): Promise<Result | undefined> {
    const database = await Promise.race([this.#open(), this.signalled.then(() => undefined)])
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

  /** Lets operators see the service from now on. */
  becomes(view: AdminView): void {
    this.#view = view
  }

  /** undefined when a signal came between two attempts. */
  async #open(): Promise<Database | undefined> {
    const since = performance.now()
    for (;;) {
      try {
        const database = await openDatabase(databaseUrl, setting('DATABASE_POOL_SIZE'))
        if (this.#reason !== undefined) this.log.info({}, 'the database is there')
        this.#reason = undefined
        return database
      } catch (error) {
        const reason = passingReason(error)
        if (reason === undefined || performance.now() - since >= this.#patience) throw error
        if (this.#reason === undefined)
          this.log.warn({ reason, seconds: this.#patience / 1000 }, 'waiting for the database')
        this.#reason = reason
      }
      if (await within(PAUSE, this.signalled, undefined)) return undefined
    }
  }

  async readiness(): Promise<Readiness> {
    if (this.#view) return await this.#view.readiness()
    const service: CheckResult = { check: 'service', status: 'wrong', detail: 'it is starting' }
    const database: CheckResult = this.#reason
      ? { check: 'database', status: 'wrong', detail: this.#reason }
      : { check: 'database', status: 'skipped' }
    return { ready: false, checks: [service, database] }
  }

  async metrics(): Promise<string> {
    return (await this.#view?.metrics()) ?? ''
  }
}
