import { drainMicrotasks } from 'bun:jsc'
import { openFirst, type Silences } from '../../../src/database/connection/opening.ts'
import type { Dial } from '../../../src/database/connection/wire.ts'
import { ServingDatabase } from '../../../src/database/pool/serving-database.ts'
import type { Lease } from '../../../src/database/statement.ts'
import type { PostgresUrl } from '../../../src/database/url.ts'
import { Host } from './host.ts'
import { Observer } from './observer.ts'
import type { Asking, Further, Plan, Setting } from './plan.ts'
import { OwnError, type Question, type Run } from './questions.ts'
import { chanceFrom, SimulatedTime } from './time.ts'
import { endAll } from './troubles.ts'
import { ASK } from './wire.ts'

/** The milliseconds within which a pool closes: cancelling statements, and closing connections. */
export const CLOSING = 2100

/** A pool with simulated servers and clients, and the observer that checks it. */
export class World {
  readonly time: SimulatedTime
  readonly observer: Observer
  readonly hosts: Host[]
  readonly database: ServingDatabase
  /** Shared by all clients that never disconnect, because making a signal takes longer than most events. */
  readonly #patient = new AbortController()

  /** @param trace is called with a line for each event */
  constructor({ setting, seed }: Plan, trace?: string[]) {
    const chance = chanceFrom(seed)
    const time = new SimulatedTime(chance)
    const observer = new Observer(setting, time, () => hosts.some(({ hasLost }) => hasLost), trace)
    const names = ['one', 'two'].slice(0, setting.hosts)
    const hosts = names.map(name => new Host(name, time, chance, setting, observer))
    endAll(hosts)
    const dial: Dial = (start, timeoutMs, signal) => {
      const { address } = start.route
      const host = hosts.find(({ name }) => 'host' in address && address.host === name) as Host
      return host.dial(start, timeoutMs, signal)
    }
    const url = urlOf(names, setting)
    const silences: Silences = new Map()
    this.time = time
    this.observer = observer
    this.hosts = hosts
    this.database = new ServingDatabase(
      (timeoutMs, signal) => openFirst(url, timeoutMs, { dial, clock: time, signal, silences }),
      {
        size: setting.size,
        waitMs: setting.wait,
        statementMs: setting.statement,
        slowMs: Number.POSITIVE_INFINITY,
      },
      { info: (_, line) => observer.logged(line), warn: (_, line) => observer.logged(line) },
      time,
    )
    observer.connections = this.database.pool.connections
  }

  /** Runs all events until `end`. */
  goOn(end: number): void {
    while (this.observer.fault === undefined && this.time.step(end)) this.#settle()
  }

  /** Runs events until all statements are over. */
  finish(): void {
    const { pending } = this.observer
    while (pending.size > 0 && this.observer.fault === undefined && this.time.step(Number.POSITIVE_INFINITY))
      this.#settle()
  }

  #settle(): void {
    drainMicrotasks()
    this.observer.check(this.database.pool)
  }

  ask({ lane, statement, further, isForRequest, hangsUpAfter }: Asking): void {
    const observer = this.observer
    const client = hangsUpAfter === null ? this.#patient : new AbortController()
    const question: Question = {
      id: observer.questions.length,
      lane: isForRequest ? lane : 'service:',
      statements: [statement, ...(further?.statements ?? [])],
      isSingle: further === undefined,
      isForRequest,
      pause: further?.pause ?? 0,
      client,
      askedAt: this.time.now(),
      deadline: observer.deadline(),
      endsBy: observer.endOf(further?.pause ?? 0),
      cancelledBy: Number.POSITIVE_INFINITY,
      workEndsBy: Number.POSITIVE_INFINITY,
      sentAt: Number.POSITIVE_INFINITY,
      begun: [],
      failsItself: further?.failsItself ?? false,
      isPausing: false,
      hasFailed: false,
      isCalm: observer.isCalm,
      lostBefore: observer.isCalm ? observer.lost : 0,
      hasCome: false,
    }
    observer.asked(question)
    const { pool } = this.database
    const before = pool.stats().waiting
    const leases = this.database.forRequest(client, lane)
    const runner = isForRequest ? leases : this.database
    const answer = further
      ? leases.lease(lease => this.#read(lease, question, further).finally(() => observer.worked(question)))
      : Promise.resolve(runner.unsafe(ASK, [question.id, 0], { prepare: true }))
    answer.then(
      rows => observer.over(question, { rows }),
      error => observer.over(question, { error }),
    )
    drainMicrotasks()
    if (pool.stats().waiting > before) observer.waits(question)
    if (isForRequest && hangsUpAfter !== null)
      this.time.add('read', hangsUpAfter, () => this.#hangUp(question))
  }

  /** The work of a lease of several statements: all their rows. */
  async #read(lease: Lease, question: Question, further: Further): Promise<object[]> {
    const { isTransaction, pause, failsItself } = further
    const run: Run = { question, sent: 0, hasFailed: false }
    const answers: PromiseLike<object>[] = []
    if (isTransaction) this.#say(run, () => lease.begin())
    for (const place of question.statements.keys()) {
      const ask = () => lease.unsafe(ASK, [question.id, place], { prepare: true })
      const rows = this.#say(run, ask)
      answers.push(rows)
      if (pause === null) continue
      await rows
      question.isPausing = true
      await new Promise<void>(resolve => this.time.add('read', pause, resolve))
      question.isPausing = false
    }
    if (failsItself) throw new OwnError()
    const committed = isTransaction ? this.#say(run, () => lease.commit()) : undefined
    const rows = await Promise.all(answers)
    await committed
    return rows.flat()
  }

  /** Sends a statement of that work. */
  #say<Result>(run: Run, send: () => Result): Result {
    this.observer.speaker = run
    try {
      return send()
    } finally {
      this.observer.speaker = undefined
    }
  }

  #hangUp(question: Question): void {
    if (!this.observer.pending.has(question)) return
    question.client.abort()
    drainMicrotasks()
    this.observer.hungUp(question)
  }

  displace(lane: string): void {
    const observer = this.observer
    const before = [...observer.pending]
    observer.isDisplacing = true
    const hasMadeRoom = this.database.pool.displace(lane)
    drainMicrotasks()
    observer.isDisplacing = false
    observer.note(`room for one of lane "${lane}": ${hasMadeRoom}`)
    const gone = before.filter(question => !observer.pending.has(question))
    if (gone.length !== Number(hasMadeRoom)) observer.wrong('displace() fails none or several statements')
    if (gone.some(question => question.lane === lane))
      observer.wrong('displace() fails a statement of the same lane')
    if (gone.some(question => !question.isForRequest))
      observer.wrong('displace() fails a statement of no request')
  }

  close(): void {
    const observer = this.observer
    observer.note('the pool is closed')
    observer.isClosed = true
    observer.closesBy = this.time.now() + CLOSING
    void this.database.close().then(() => {
      observer.closesBy = Number.POSITIVE_INFINITY
    })
    drainMicrotasks()
    for (const { id, isPausing } of observer.pending)
      if (!isPausing) observer.wrong(`${id} goes on in a pool that is closed`)
  }
}

function urlOf(names: string[], { wanted }: Setting): PostgresUrl {
  return {
    addresses: names.map(host => ({ host, port: 5432 })),
    login: { user: 'u', database: 'd' },
    encryption: { mode: 'disable', isDirect: false },
    target: wanted,
    prepare: true,
    parameters: {},
  }
}
