import type { ParameterOrJSON } from 'postgres'
import { closedError } from '../../../src/database/failures.ts'
import { BEGIN, IDLE_TRANSACTION_MS } from '../../../src/database/pool/lease.ts'
import type { Host } from './host.ts'
import type { Link } from './link.ts'
import type { Answer, SimulatedWire, Status } from './wire.ts'

/** The way in which a statement ends by itself. */
export type Ending = 'rows' | 'wrong' | 'deadlock' | 'no-memory' | 'disk-full'

/** The behaviour of a statement at the server. */
export interface Statement {
  /** In milliseconds. */
  takes: number
  ends: Ending
  /** Whether a read-only server refuses the statement. */
  isWrite: boolean
  /** Whether the answer arrives in parts, from the start of the statement. */
  isTrickling: boolean
}

/** The SQLSTATEs with which statements fail. */
const CODES: Record<Exclude<Ending, 'rows'>, string> = {
  wrong: '22P02',
  deadlock: '40P01',
  'no-memory': '53200',
  'disk-full': '53100',
}

/** The milliseconds between two parts of an answer. */
const TRICKLE = 90

/** A process of a simulated server: one connection, on the server's side. */
export class Process {
  readonly secret: number
  /** The time when the process last started or ended a statement. */
  #changedAt: number
  /** The running statement, and its future events. */
  #work: { id: number; since: number; undo: (() => void)[] } | undefined
  /** Messages that arrived while a statement runs. */
  readonly #unread: (() => void)[] = []
  #status: Status = 'I'
  /** Stops the time of an idle transaction. */
  #stopIdle = () => {}
  #hasStarted = false
  #isLeft = false
  #isEnded = false

  constructor(
    readonly pid: number,
    private readonly host: Host,
    readonly link: Link,
    private readonly wire: SimulatedWire,
  ) {
    this.secret = Math.floor(host.chance() * 2 ** 31)
    this.#changedAt = host.time.now()
  }

  /** The milliseconds for which the process was idle; null while a statement runs. */
  get idle(): string | null {
    return this.#work ? null : String(this.host.time.now() - this.#changedAt)
  }

  get isInTransaction(): boolean {
    return this.#status !== 'I'
  }

  run(text: string, parameters: ParameterOrJSON<never>[]): void {
    const { door } = this.host
    if (this.#isEnded) return
    if (this.#work) {
      this.#unread.push(() => this.run(text, parameters))
      return
    }
    this.#stopIdle()
    if (!this.#hasStarted && door === 'full') this.end('53300')
    else if (!this.#hasStarted && door === 'starting') this.end('57P03')
    else if (text.includes('pg_postmaster_start_time')) this.#say({ rows: this.#who() })
    else if (text.includes('pg_stat_activity')) this.#say({ rows: this.host.activity() })
    else if (text === BEGIN) this.#turn('T')
    else if (text === 'commit') this.#turn('I')
    else if (this.#status === 'E') this.#say({ error: refusal('25P02') })
    else this.#begin(Number(parameters[0]), Number(parameters[1]))
    this.#hasStarted = true
    this.#waitForNext()
  }

  #turn(status: Status): void {
    this.#status = status
    this.#say({ rows: [] })
  }

  /** An idle transaction is ended after a time. */
  #waitForNext(): void {
    if (this.#work || this.#isEnded || !this.isInTransaction) return
    this.#stopIdle()
    this.#stopIdle = this.host.time.add('outside', IDLE_TRANSACTION_MS, () => {
      this.host.observer.endsIdle()
      this.end('25P03')
    })
  }

  /** Replay on a standby needs what this process reads. */
  conflict(): void {
    if (this.#work) this.#finish({ error: refusal('40001') })
    else if (this.isInTransaction) this.end('40001')
  }

  /** Handles a cancel request, which ends any running statement. */
  cancel(): void {
    if (!this.#work) return
    this.host.observer.cancelled(this.#work.id)
    this.#finish({ error: refusal('57014') })
  }

  /** The client has closed the connection. A process notices that after its statement. */
  leave(): void {
    this.#isLeft = true
    this.#unread.length = 0
    this.link.say('down', () => this.wire.hearEnd(closedError()))
    if (!this.#work) this.#exit()
  }

  #exit(): void {
    this.#stopIdle()
    this.host.processes.delete(this.pid)
  }

  /** Ends the process and its connection, with or without a message. */
  end(code?: string): void {
    this.#isEnded = true
    this.#stop()
    this.#exit()
    if (code !== undefined) this.#send({ error: refusal(code) })
    const isReset = this.host.chance() < 0.5
    const error = isReset ? Object.assign(new Error('reset'), { code: 'ECONNRESET' }) : closedError()
    this.link.say('down', () => this.wire.hearEnd(error))
  }

  #begin(id: number, place: number): void {
    const { time, observer, timeout, isPooled } = this.host
    const statement = observer.begin(id, place)
    const since = time.now()
    const isTooLong = statement.takes > timeout && !isPooled
    const undo = isTooLong
      ? time.add('outside', timeout, () => this.#finish({ error: refusal('57014') }))
      : time.add('outside', statement.takes, () => this.#finish(this.#answerTo(id, place, statement)))
    this.#changedAt = since
    this.#work = { id, since, undo: [undo] }
    if (statement.isTrickling) this.#trickle()
  }

  #answerTo(id: number, place: number, { ends, isWrite }: Statement): Answer {
    if (isWrite && this.host.isStandby) return { error: refusal('25006') }
    return ends === 'rows' ? { rows: [{ id, place }] } : { error: refusal(CODES[ends]) }
  }

  #trickle(): void {
    const undo = this.host.time.add('outside', TRICKLE, () => {
      this.#send({ part: true })
      this.#trickle()
    })
    this.#work?.undo.splice(1, 1, undo)
  }

  #finish(answer: Answer): void {
    const { id, since } = this.#work ?? { id: 0, since: 0 }
    const ran = this.host.time.now() - since
    this.#stop()
    this.#changedAt = this.host.time.now()
    if ('error' in answer) {
      this.host.observer.failed(id, this.wire)
      if (this.isInTransaction) this.#status = 'E'
    }
    this.#say(answer, () => {
      if ('rows' in answer) this.host.observer.came(id, ran)
    })
    if (this.#isLeft) this.#exit()
    else this.#waitForNext()
    while (!this.#work && this.#unread.length > 0) this.#unread.shift()?.()
  }

  #stop(): void {
    for (const undo of this.#work?.undo ?? []) undo()
    this.#work = undefined
  }

  /** Ends an answer with ReadyForQuery. */
  #say(answer: Answer, arrive?: () => void): void {
    this.#send({ ...answer, status: this.#status }, arrive)
  }

  #send(answer: Answer, arrive = () => {}): void {
    this.link.say('down', () => this.wire.hear(answer), arrive)
  }

  #who(): object {
    const { isPooled, isStandby, startedAt, name } = this.host
    const pid = isPooled ? this.pid + 1_000_000 : this.pid
    const rows = [{ pid, server: `${name} ${startedAt}`, isStandby, isReadOnly: isStandby }]
    return Object.assign(rows, { state: { pid: this.pid, secret: this.secret } })
  }
}

/** Sends an error of the server. */
const refusal = (code: string) => Object.assign(new Error(code), { name: 'PostgresError', code })
