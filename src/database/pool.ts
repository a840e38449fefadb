import type { ParameterOrJSON } from 'postgres'
import { GRACE_MS, type PoolBounds, type RequestBounds, requestMs, type StateLog } from './bounds.ts'
import { CANCEL_MS, type Client, type SentStatement } from './client.ts'
import { ConnectionQueue } from './connection-queue.ts'
import {
  ClientGone,
  DatabaseUnavailable,
  QueueTimeout,
  reasonOf,
  refusalOf,
  refusesMore,
  StatementTimeout,
  type Verdict,
  verdictOn,
} from './failures.ts'
import { rowsInTime } from './rows-in-time.ts'
import type { Runner, RunOptions } from './statement.ts'
import { type Discovery, Watchdog } from './watchdog.ts'
import { type Write, Writes } from './writes.ts'

/** Characters of a statement in the log: a line of 4,096 bytes is written to a pipe in one piece. */
const LOGGED_CHARACTERS = 3000

/** What has to be left of a request's time for its statement to be sent once more. */
const REPETITION_MS = 500

/** How often a statement is sent, and how often a connection for it may be refused. */
const MAX_SENT = 2
const MAX_REFUSALS = 3

/** Before what follows a lost connection: what has cut one may have cut others, whose ends have not been read yet. */
const PAUSE_MS = 50

/** When the server has refused one connection more, statements share those that are open for so long. */
const SHARING_MS = 10_000

/** The bounds of a request, and what its statements write. */
interface RequestWork extends RequestBounds {
  writes?: Write | undefined
}

/** A statement, and the request that it is for. */
interface StatementWork extends RequestWork {
  text: string
  parameters: ParameterOrJSON<never>[]
  options: RunOptions
  integration: string | undefined
  deadline: number
}

/** What came of one attempt. */
type Outcome = { rows: object } | { error: unknown; verdict: Verdict | 'not sent' }

/**
 * The database as requests use it: single statements, each on a connection of the pool. A statement whose connection was
 * cut is sent once more. So each one may run twice: it reads or deletes, or inserts rows under a given key and returns the
 * row that is there.
 * @throws (each statement) DatabaseUnavailable, StatementTimeout, ClientGone, or the database's own error
 */
export class ServingDatabase implements Runner {
  readonly writes: Writes
  readonly #watchdog: Watchdog
  readonly #queue: ConnectionQueue
  #sharesUntil = Number.NEGATIVE_INFINITY

  constructor(
    discovery: Discovery,
    readonly bounds: PoolBounds,
    private readonly log: StateLog,
  ) {
    this.writes = new Writes(log)
    this.#queue = new ConnectionQueue(bounds.size)
    this.#watchdog = new Watchdog(discovery, bounds, log, {
      onSize: size => {
        if (performance.now() > this.#sharesUntil) this.#queue.resize(size)
      },
      onLost: error => this.#queue.failAll(error),
    })
  }

  /** Ends all connections. What runs is cancelled, and what waits fails. */
  async close(): Promise<void> {
    this.#queue.failAll(new DatabaseUnavailable('the service is stopping'))
    await this.#watchdog.close()
  }

  /** Runs the statements of a request. @param integration whose request it is, if that is known */
  forRequest({ signal, deadline, writes }: RequestWork, integration?: string): Runner {
    const until = deadline ?? this.#laterDeadline()
    return {
      unsafe: (text, parameters, options) =>
        this.#run({ text, parameters, options, integration, signal, deadline: until, writes }),
    }
  }

  /** Runs a statement of no request. */
  unsafe(text: string, parameters: ParameterOrJSON<never>[], options: RunOptions): Promise<object> {
    return this.#run({ text, parameters, options, integration: undefined, deadline: this.#laterDeadline() })
  }

  #laterDeadline(): number {
    return performance.now() + requestMs(this.bounds)
  }

  stats(): { inUse: number; idle: number; waiting: number } {
    const { inUse, waiting } = this.#queue
    return { inUse, idle: Math.max(0, (this.#watchdog.client?.size ?? 0) - inUse), waiting }
  }

  /** Whether the next statement has to wait. */
  isBusy(): boolean {
    return this.#queue.inUse >= this.#queue.size
  }

  /** Why requests cannot be answered now, in words that hold no secret; undefined if they can. */
  async trouble(): Promise<string | undefined> {
    // A busy pool is no trouble of the database, and a check need not wait in its queue.
    if (this.#watchdog.why !== undefined || this.isBusy()) return this.#watchdog.why
    try {
      await this.unsafe('select 1', [], { prepare: false })
      return undefined
    } catch (error) {
      if (error instanceof QueueTimeout) return undefined
      if (error instanceof DatabaseUnavailable) return error.reason
      throw error
    }
  }

  /** Asks the database whether it is read-only, as a standby is, and notes the answer. @throws as a statement */
  async checkReadOnly(): Promise<boolean> {
    const text = `select current_setting('transaction_read_only') = 'on' as value`
    const [row] = (await this.unsafe(text, [], { prepare: false })) as { value: boolean }[]
    const isReadOnly = row?.value === true
    this.writes.noteReadOnly(isReadOnly)
    return isReadOnly
  }

  async #run(work: StatementWork): Promise<object> {
    let cuts = 0
    for (let refusals = 0; ; ) {
      const outcome = await this.#attempt(work)
      if ('rows' in outcome) return outcome.rows
      const { error, verdict } = outcome
      const hasTime = performance.now() + REPETITION_MS <= work.deadline - GRACE_MS
      const isShared = verdict === 'not sent' && (await this.#share(error))
      const isElsewhere = verdict === 'read-only' && (await this.#watchdog.findWritable())
      if (!isElsewhere && verdict !== 'not sent') this.#noteRefusal(error, work)
      const mayPass = isElsewhere || verdict === 'cut' || verdict === 'passing'
      const isRepeated =
        verdict === 'not sent' ? isShared || ++refusals < MAX_REFUSALS : mayPass && ++cuts < MAX_SENT
      if (!hasTime || !isRepeated) throw failureOf(error, verdict)
      if (verdict !== 'not sent') await Bun.sleep(PAUSE_MS)
    }
  }

  /** @throws ClientGone, DatabaseUnavailable, StatementTimeout */
  async #attempt(work: StatementWork): Promise<Outcome> {
    const { text, parameters, options, integration, deadline, signal, writes } = work
    // How many connections there are is known when the server is.
    if (!this.#watchdog.client) await this.#watchdog.opened()
    const patienceMs = Math.min(this.bounds.waitMs, deadline - GRACE_MS - performance.now())
    // What is read already should not wait for what is still to be read.
    await this.#queue.enter(integration, patienceMs, signal, writes === 'disclosures')
    const leave = () => this.#queue.leave(integration)
    let client: Client
    let sent: SentStatement
    try {
      client = this.#watchdog.client ?? (await this.#watchdog.opened())
      // A statement has its connection until it ends, also if nobody waits for it any more.
      sent = client.send(text, parameters, options, leave)
    } catch (error) {
      leave()
      throw error
    }
    try {
      // The server itself ends a statement that takes too long, unless a pooler is in between.
      const ms = Math.min(this.bounds.statementMs + GRACE_MS / 2, deadline - GRACE_MS - performance.now())
      const rows = await rowsInTime(client, sent, ms, work)
      this.#logIfSlow(work, sent)
      return { rows }
    } catch (error) {
      if (error instanceof ClientGone) throw error
      const verdict = error instanceof StatementTimeout ? 'timeout' : this.#verdictOn(error, client, sent)
      // What failed otherwise was not slow: the database was lost.
      if (verdict === 'timeout') this.#logIfSlow(work, sent)
      return { error, verdict }
    }
  }

  #verdictOn(error: unknown, client: Client, sent: SentStatement): Verdict | 'not sent' {
    if (sent.pid() === undefined) return 'not sent'
    const verdict = verdictOn(error)
    // A cancel request came late, and has hit the next statement of its connection.
    const isLateCancel = verdict === 'timeout' && client.cancelledAt > sent.at - CANCEL_MS
    return isLateCancel && performance.now() - sent.at < this.bounds.statementMs ? 'cut' : verdict
  }

  /** No further connection could be opened. @returns whether statements share those that are open and stay so */
  async #share(error: unknown): Promise<boolean> {
    void this.#watchdog.look()
    const before = this.#watchdog.client?.pids
    await Bun.sleep(PAUSE_MS)
    const open = this.#watchdog.client?.pids.filter(pid => before?.includes(pid)).length ?? 0
    // Otherwise the watchdog finds out whether there is a database.
    if (open === 0 && !refusesMore(error)) return false
    const now = performance.now()
    if (now > this.#sharesUntil + SHARING_MS)
      this.log.warn({ reason: reasonOf(error), open }, 'the database takes no further connection')
    this.#sharesUntil = now + SHARING_MS
    if (open > 0) this.#queue.resize(open)
    return open > 0
  }

  #noteRefusal(error: unknown, { writes }: StatementWork): void {
    const refusal = refusalOf(error)
    if (!refusal) return
    // A server that is read-only issues no tokens, whatever was to be written.
    const refused = refusal === 'read-only' ? (writes ?? 'tokens') : writes
    this.writes.refused(refusal, refused, (error as { code?: string }).code)
  }

  /** The text of a statement holds none of its values, which are names and ids of people. */
  #logIfSlow({ text }: StatementWork, { at }: SentStatement): void {
    const ms = performance.now() - at
    if (ms < this.bounds.slowMs) return
    const statement = text.trim().replaceAll(/\s+/g, ' ').slice(0, LOGGED_CHARACTERS)
    this.log.warn({ ms: Math.round(ms), statement }, 'slow statement')
  }
}

/** Why no statement can run, and after how many seconds one may. */
const REASONS: Partial<Record<Verdict | 'not sent', [string, number?]>> = {
  cut: ['the connection to the database was lost'],
  'read-only': ['the database is read-only', 5],
  'disk-full': ['the disk of the database is full', 5],
}

/** The error to throw instead of the database's own one, if its cause is known. */
function failureOf(error: unknown, verdict: Verdict | 'not sent'): unknown {
  if (verdict === 'unforeseen') return error
  if (verdict === 'timeout') return new StatementTimeout()
  return new DatabaseUnavailable(...(REASONS[verdict] ?? [reasonOf(error)]))
}
