import type { Connection } from '../../../src/database/connection/connection.ts'
import type { ConnectionPool } from '../../../src/database/pool/connection-pool.ts'
import { FOUND, LOST } from '../../support/wordings.ts'
import type { Setting } from './plan.ts'
import type { Statement } from './process.ts'
import { type Outcome, type Question, type Run, wrongOutcome } from './questions.ts'
import type { SimulatedTime } from './time.ts'
import { Turns } from './turns.ts'
import { ASK, type SimulatedWire } from './wire.ts'

/** The tolerance of limits in milliseconds, for a round of the monitor and for reading what has arrived. */
const TOLERANCE = 300

/** The longest pause between two attempts to open a further connection, in milliseconds. */
const LONGEST_PAUSE = 500

/**
 * The time that a lease has beyond its own for the report of the server, and that the monitor gives running statements
 * after a suspension, for answers that arrived meanwhile.
 */
const GRACE = 1000

/** The milliseconds within which the statement of a disconnected client is cancelled, or its connection is closed. */
export const CANCELLED = 2000

/**
 * The milliseconds within which a working database is found again: a pause between two attempts, and an attempt.
 */
export const RECOVERY = 600

/** Checks the invariants of the pool after every event. */
export class Observer {
  readonly questions: Question[] = []
  /** The leases that are not over. */
  readonly pending = new Set<Question>()
  /** The work that is sending a statement. */
  speaker: Run | undefined
  /** The first fault. */
  fault: string | undefined
  isClosed = false
  /** An upper bound of the number of connections that were cut or lost so far. */
  lost = 0
  /** The time by which the pool must be closed. */
  closesBy = Number.POSITIVE_INFINITY
  /** Whether displace() is running. */
  isDisplacing = false
  /** The number of connections that are open or being opened. */
  held = 0
  /** The time from which no failure has an effect any more, except on connections that are lost silently. */
  #calmAt = 0
  #isLost = false
  /** The time when a connection last ended: then idle ones are tested. */
  #endedAt = 0
  /** The time since which a statement waits although a further connection could be opened. */
  #roomSince: number | undefined
  readonly #turns = new Turns(
    what => this.wrong(what),
    lane => this.#roomOf(lane) <= 0,
  )
  /** The open connections. */
  connections: ReadonlySet<Connection> = new Set()

  /** @param trace is called with a line for each event */
  constructor(
    private readonly setting: Setting,
    private readonly time: SimulatedTime,
    /** Whether the program holds connections that are lost silently. */
    private readonly hasLost: () => boolean,
    private readonly trace?: string[],
  ) {}

  wrong(what: string): void {
    this.fault ??= what
    this.note(`WRONG: ${what}`)
  }

  note(what: string): void {
    this.trace?.push(`${this.time.now().toFixed(1).padStart(9)}  ${what}`)
  }

  /** A connection begins to open, or has ended. */
  hold(change: 1 | -1): void {
    this.held += change
    if (change < 0) this.#endedAt = this.time.now()
    this.note(`connections: ${this.held}`)
    // With two hosts, an attempt continues with the second host.
    if (change > 0 && this.isClosed && this.setting.hosts === 1)
      this.wrong('a closed pool opens a connection')
  }

  /** The pool logs a line. */
  logged(line: string): void {
    this.note(line)
    const isLost = line === LOST
    if (!isLost && line !== FOUND) return
    if (isLost === this.#isLost) this.wrong(`logged twice: ${line}`)
    if (isLost && this.isCalm) this.wrong('an outage is logged that did not happen')
    this.#isLost = isLost
  }

  /** Whether the database is well, and the pool knows it. */
  get isCalm(): boolean {
    return !this.#isLost && this.time.now() >= this.#calmAt && !this.hasLost()
  }

  /** A failure begins, which has effects until `end` at least. A suspended program notices it later. */
  trouble(end: number): void {
    this.#calmAt = Math.max(this.#calmAt, end + RECOVERY, this.time.resumesAt + RECOVERY)
    for (const question of this.pending) question.isCalm = false
  }

  asked(question: Question): void {
    this.questions.push(question)
    this.pending.add(question)
    this.note(`${question.id} is asked, in lane "${question.lane}"`)
  }

  /** A statement enters the queue. */
  waits({ id, lane }: Question): void {
    this.#turns.enter(id, lane)
    this.note(`${id} waits`)
  }

  /** A lease sends a statement. @param id of the question of a statement without a lease of its own */
  sent(wire: SimulatedWire, text: string, id: number): void {
    const run = this.speaker ?? { question: this.#question(id), sent: 0, hasFailed: false }
    const { question } = run
    this.note(`${question.id} sends ${text === ASK ? text : text.split(' ')[0]}`)
    if (question.client.signal.aborted) this.wrong(`${question.id} goes on without its client`)
    if (run.wire && run.wire !== wire) this.wrong(`${question.id} runs on two connections`)
    if (run.sent++ > 0) return
    const { lastRun, process } = wire
    if (process?.isInTransaction) this.wrong(`${question.id} is handed a connection in a transaction`)
    if (lastRun?.hasFailed && lastRun.sent > 1)
      this.wrong(`${question.id} is handed a connection on which a lease of several statements has failed`)
    run.wire = wire
    wire.lastRun = run
    const now = this.time.now()
    question.sentAt = now
    if (this.speaker) question.workEndsBy = now + this.setting.statement + 1000 + question.pause + TOLERANCE
    this.#turns.sent(question.id, question.lane)
  }

  /** A server starts a statement. A lease may be repeated once after a failure. */
  begin(id: number, place: number): Statement {
    const { statements, begun, isForRequest, isCalm } = this.#question(id)
    this.note(`${id} is begun at ${place}`)
    const times = (begun[place] ?? 0) + 1
    begun[place] = times
    if (times > (isForRequest ? 2 : 1)) this.wrong(`${id} is run ${times} times`)
    // A connection that was opened in an outage may lead to a server that is a standby now.
    const mayBeElsewhere = this.setting.hosts > 1
    const hasCause = statements.some(
      ({ ends, isWrite }) => ends === 'deadlock' || ends === 'no-memory' || (isWrite && mayBeElsewhere),
    )
    if (times > 1 && isCalm && !hasCause) this.wrong(`${id} is run once more without a cause`)
    return statements[place] as Statement
  }

  /** A server fails a statement. */
  failed(id: number, { lastRun }: SimulatedWire): void {
    this.#question(id).hasFailed = true
    if (lastRun) lastRun.hasFailed = true
  }

  /** The work of a lease has ended. */
  worked(question: Question): void {
    question.workEndsBy = Number.POSITIVE_INFINITY
  }

  /** A server ends an idle transaction. */
  endsIdle(): void {
    this.note('an idle transaction is ended')
    this.lost++
    this.trouble(this.time.now())
  }

  /** The rows of a statement that ran for `ran` milliseconds have reached the machine. */
  came(id: number, ran: number): void {
    const question = this.#question(id)
    if (this.time.isStopped && question.isSingle && ran <= this.setting.statement) question.hasCome = true
  }

  /** A server gets a cancel request: the client has disconnected, or the lease takes too long, has failed, or is over. */
  cancelled(id: number): void {
    this.note(`${id} is cancelled`)
    const { client, sentAt, deadline, hasFailed, outcome } = this.#question(id)
    const now = this.time.now()
    const isTooLong = now - sentAt >= this.setting.statement || now >= deadline - GRACE
    if (!client.signal.aborted && !this.isClosed && !isTooLong && !hasFailed && !outcome)
      this.wrong(`${id} is cancelled without a cause`)
  }

  over(question: Question, outcome: Outcome): void {
    const { id } = question
    if (!this.pending.delete(question)) this.wrong(`${id} is over twice`)
    question.outcome = outcome
    this.#turns.leave(id)
    this.note(`${id} is over: ${'error' in outcome ? outcome.error : 'rows'}`)
    const { setting, isClosed, lost, isDisplacing } = this
    const around = { now: this.time.now(), setting, isClosed, lost, isDisplacing }
    const what = wrongOutcome(question, outcome, around)
    if (what) this.wrong(`${id}: ${what}`)
  }

  /** The client of a statement disconnects: the statement must leave the queue or be cancelled. */
  hungUp(question: Question): void {
    this.note(`the client of ${question.id} has hung up`)
    question.cancelledBy = this.time.now() + question.pause + CANCELLED + TOLERANCE
    if (this.#turns.isWaiting(question.id)) this.wrong(`${question.id} stays in the queue`)
  }

  /** The program is suspended: all limits are extended. */
  stopped(milliseconds: number): void {
    this.note(`the program is stopped for ${milliseconds} ms`)
    for (const question of this.pending) {
      question.endsBy += milliseconds + GRACE
      question.workEndsBy += milliseconds + GRACE
      question.cancelledBy += milliseconds
    }
    if (this.#roomSince !== undefined) this.#roomSince += milliseconds
    if (this.time.now() < this.#calmAt) this.#calmAt += milliseconds
    this.closesBy += milliseconds
  }

  /** The deadline of a request that arrives now. */
  deadline(): number {
    return this.time.now() + this.setting.wait + this.setting.statement + GRACE
  }

  /** The time by which a lease that is asked for now must be over. It may pause after its time. */
  endOf(pause: number): number {
    return this.deadline() + pause + TOLERANCE
  }

  /** The conditions that hold after each event. */
  check(pool: ConnectionPool): void {
    const now = this.time.now()
    for (const { id, endsBy, cancelledBy, workEndsBy, isCalm } of this.pending) {
      if (now > workEndsBy) this.wrong(`the work of ${id} does not end in time`)
      // The answer to a cancel request may be lost with its connection, even if the failure begins after the
      // request.
      if (now > endsBy || (isCalm && now > cancelledBy)) this.wrong(`${id} is not over in time`)
    }
    if (now > this.closesBy) this.wrong('the pool is still not closed')
    // One connection is for probing the server. While the database is down, two attempts at a time are made.
    const most = (this.#isLost ? Math.min(this.setting.size, 2) : this.setting.size) + 1
    if (this.held > most) this.wrong(`${this.held} connections, of ${most}`)
    if (this.pending.size === 0) {
      this.#roomSince = undefined
      return
    }
    const { inUse, idle, waiting } = pool.stats()
    if (inUse + idle > this.setting.size) this.wrong(`${inUse + idle} connections of ${this.setting.size}`)
    for (const lane of this.#turns.waiting.keys())
      if (this.#roomOf(lane) < 0) this.wrong(`lane "${lane}" holds more connections than it may`)
    // Those that wait for a connection, and may have one that is not being tested for them.
    let able = -[...pool.connections].filter(({ state }) => state.is === 'testing').length
    for (const [lane, count] of this.#turns.waiting) able += Math.min(count, this.#roomOf(lane))
    if (idle > 0 && able > 0) this.wrong('a statement waits beside an idle connection')
    // In a failure, the last word of a server may have been heard.
    for (const { id, lane, askedAt } of this.isCalm ? this.pending : [])
      for (const { state, heardAt } of pool.connections)
        if (state.is === 'idle' && heardAt > Math.max(askedAt, this.#endedAt))
          if (this.#turns.isWaiting(id) && this.#roomOf(lane) > 0)
            this.wrong(`${id} waits beside a connection that needs no test`)
    if (waiting > this.pending.size) this.wrong('a statement waits that is over')
    // Connections that are being opened for waiting statements, or that are closing.
    const others = this.held - inUse - idle
    if (able <= others || this.held >= this.setting.size) this.#roomSince = undefined
    else this.#roomSince ??= now
    if (now - (this.#roomSince ?? now) > LONGEST_PAUSE + TOLERANCE)
      this.wrong('a statement waits though a connection could be opened')
  }

  /** How many more connections a lane may hold: an integration leaves two for others, and holds at least one. */
  #roomOf(lane: string): number {
    const { size } = this.setting
    const most = lane === '' || lane === 'service:' ? size : Math.max(1, size - 2)
    return most - [...this.connections].filter(({ taken }) => taken?.lane === lane).length
  }

  #question(id: number): Question {
    return this.questions[id] as Question
  }
}
