import { drainMicrotasks } from 'bun:jsc'
import { openFirst } from '../../../src/postgres/connection/opening.ts'
import type { PostgresUrl } from '../../../src/postgres/connection/url.ts'
import type { Dial } from '../../../src/postgres/connection/wire.ts'
import { ServingDatabase } from '../../../src/postgres/pool/serving-database.ts'
import { Host } from './host.ts'
import { Observer } from './observer.ts'
import type { Action, Plan, Setting } from './plan.ts'
import type { Question } from './questions.ts'
import { chanceFrom, SimulatedTime } from './time.ts'
import { endAll } from './troubles.ts'
import { ASK } from './wire.ts'

/** The milliseconds within which a pool closes: cancelling statements, and closing connections. */
export const CLOSING = 2100

type Asking = Omit<Extract<Action, { does: 'ask' }>, 'does' | 'after'>

/** A pool with simulated servers and clients, and the observer that checks it. */
export class World {
  readonly time: SimulatedTime
  readonly observer: Observer
  readonly hosts: Host[]
  readonly pool: ServingDatabase
  /** Shared by all clients that never disconnect, because making a signal takes longer than most events. */
  readonly #patient = new AbortController()

  /** @param trace is called with a line for each event */
  constructor({ setting, seed }: Plan, trace?: string[]) {
    const chance = chanceFrom(seed)
    const time = new SimulatedTime(chance)
    const observer = new Observer(setting, time, trace)
    const names = ['one', 'two'].slice(0, setting.hosts)
    const hosts = names.map(name => new Host(name, time, chance, setting, observer))
    endAll(hosts)
    const dial: Dial = (start, timeoutMs) => {
      const { address } = start.route
      const host = hosts.find(({ name }) => 'host' in address && address.host === name) as Host
      return host.dial(start, timeoutMs)
    }
    const url = urlOf(names, setting)
    this.time = time
    this.observer = observer
    this.hosts = hosts
    this.pool = new ServingDatabase(
      timeoutMs => openFirst(url, timeoutMs, { dial, clock: time }),
      {
        size: setting.size,
        waitMs: setting.wait,
        statementMs: setting.statement,
        slowMs: Number.POSITIVE_INFINITY,
      },
      { info: (_, line) => observer.logged(line), warn: (_, line) => observer.logged(line) },
      time,
    )
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
    this.observer.check(this.pool)
  }

  ask({ lane, statement, isForRequest, hangsUpAfter }: Asking): void {
    const observer = this.observer
    const client = hangsUpAfter === null ? this.#patient : new AbortController()
    const question: Question = {
      id: observer.questions.length,
      lane: isForRequest ? lane : '',
      statement,
      isForRequest,
      client,
      askedAt: this.time.now(),
      endsBy: observer.endOf(isForRequest),
      cancelledBy: Number.POSITIVE_INFINITY,
      sentAt: Number.POSITIVE_INFINITY,
      begun: 0,
      hasCome: false,
    }
    observer.asked(question)
    const before = this.pool.stats()
    const runner = isForRequest ? this.pool.forRequest(client, lane) : this.pool
    runner.unsafe(ASK, [question.id], { prepare: true }).then(
      rows => observer.over(question, { rows }),
      error => observer.over(question, { error }),
    )
    drainMicrotasks()
    // An idle connection may have to be tested first.
    if (before.idle === 0 && this.pool.stats().waiting > before.waiting) observer.waits(question)
    if (isForRequest && hangsUpAfter !== null)
      this.time.add('read', hangsUpAfter, () => this.#hangUp(question))
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
    const hasMadeRoom = this.pool.displace(lane)
    drainMicrotasks()
    observer.isDisplacing = false
    observer.note(`room for one of lane "${lane}": ${hasMadeRoom}`)
    const gone = before.filter(question => !observer.pending.has(question))
    if (gone.length !== Number(hasMadeRoom)) observer.wrong('displace() fails none or several statements')
    if (gone.some(question => question.lane === lane))
      observer.wrong('displace() fails a statement of the same lane')
  }

  close(): void {
    const observer = this.observer
    observer.note('the pool is closed')
    observer.isClosed = true
    observer.closesBy = this.time.now() + CLOSING
    void this.pool.close().then(() => {
      observer.closesBy = Number.POSITIVE_INFINITY
    })
    drainMicrotasks()
    for (const { id } of observer.pending) observer.wrong(`${id} goes on in a pool that is closed`)
  }
}

function urlOf(names: string[], { wanted }: Setting): PostgresUrl {
  return {
    addresses: names.map(host => ({ host, port: 5432 })),
    login: {},
    encryption: { mode: 'disable', isDirect: false },
    target: wanted,
    prepare: true,
    parameters: {},
  }
}
