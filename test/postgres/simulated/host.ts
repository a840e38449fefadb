import { onTimeout } from '../../../src/postgres/connection/clock.ts'
import type { Backend } from '../../../src/postgres/connection/socket.ts'
import type { Dial } from '../../../src/postgres/connection/wire.ts'
import { timeoutError } from '../../../src/postgres/failures.ts'
import { Link } from './link.ts'
import type { Observer } from './observer.ts'
import type { Setting } from './plan.ts'
import { Process } from './process.ts'
import { LATENESS, type SimulatedTime } from './time.ts'
import { SimulatedWire } from './wire.ts'

/** What a host does with those who come. */
export type Door =
  | 'open'
  /** Nobody listens. */
  | 'shut'
  /** Somebody takes connections and closes them. */
  | 'closing'
  /** The server has no connection left. */
  | 'full'
  /** The server starts. */
  | 'starting'

/** Milliseconds for one way of a request that opens a socket, at most. */
const LATENCY = 4

/** A simulated server of Postgres, and the network on the way to it. */
export class Host {
  door: Door = 'open'
  isSilent = false
  /** Whether requests to cancel are heard by nobody. */
  isDeafToCancel = false
  isStandby = false
  /** A pooler is in between: it makes up pids, and keeps statement_timeout from the server. */
  readonly isPooled: boolean
  /** Milliseconds after which a statement is ended. */
  readonly timeout: number
  /** Changes with each start. */
  startedAt = 1
  readonly processes = new Map<number, Process>()
  /** Of all connections there ever were: the end of one may still be on its way. */
  readonly links: Link[] = []
  #nextPid = 1
  /** Who waits for the end of a silence. */
  readonly #unheard: (() => void)[] = []

  constructor(
    readonly name: string,
    readonly time: SimulatedTime,
    readonly chance: () => number,
    { isPooled, statement }: Setting,
    readonly observer: Observer,
  ) {
    this.isPooled = isPooled
    this.timeout = statement
  }

  readonly dial: Dial = (_, patience) => {
    this.observer.hold(1)
    return this.#reach(patience, () => this.#accept()).then(
      wire => wire.handOver(),
      error => {
        this.observer.hold(-1)
        throw error
      },
    )
  }

  /** As cancelBackend() has it. */
  cancel({ pid, secret }: Backend, patience: number): Promise<void> {
    return this.#reach(
      patience,
      () => {
        if (this.isDeafToCancel) return 'unheard'
        const process = this.processes.get(pid)
        return process?.secret === secret ? process.cancel() : undefined
      },
      true,
    )
  }

  /** As pg_stat_activity has it. */
  activity(): object {
    return Array.from(this.processes.values(), ({ pid, idle }) => ({ pid, idle }))
  }

  /** All connections end, with a word of the server or without. */
  restart(): void {
    const code = this.chance() < 0.5 ? '57P01' : undefined
    for (const process of [...this.processes.values()]) process.end(code)
    this.startedAt++
  }

  /** Ends a silence: what was said in it is heard, unless it is forgotten who wanted to open a connection. */
  resume(isForgotten = false): void {
    this.isSilent = false
    for (const link of this.links) link.resume()
    for (const hear of this.#unheard.splice(0)) if (!isForgotten) hear()
  }

  #accept(): SimulatedWire {
    const link = new Link(this.time, this, this.chance)
    this.links.push(link)
    const wire = new SimulatedWire(link, this)
    const process = new Process(this.#nextPid++, this, link, wire)
    wire.process = process
    this.processes.set(process.pid, process)
    if (this.door === 'closing') process.end()
    return wire
  }

  /**
   * Opens a socket, and has the server do something there; resolves when that is known here.
   * @param isHeardLate whether the server does it for somebody, too, whose patience is over
   */
  #reach<Result>(patience: number, act: () => Result | 'unheard', isHeardLate = false): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    let isOver = false
    const giveUp = () => {
      isOver = true
      reject(timeoutError())
    }
    const settle = onTimeout(patience, giveUp, this.time)
    const hear = () => {
      if (isOver && !isHeardLate) return
      if (this.isSilent) {
        this.#unheard.push(hear)
        return
      }
      const isShut = this.door === 'shut'
      const result = isShut ? undefined : act()
      if (result === 'unheard') return
      const read = () => {
        settle()
        if (isShut) reject(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }))
        else resolve(result as Result)
      }
      this.time.add('outside', this.chance() * LATENCY, () => this.time.add('read', 0, read))
    }
    // There and back for the socket, before anything can be said: a statement that was sent is there by then.
    this.time.add('outside', (1 + this.chance()) * LATENCY + LATENESS, hear)
    return promise
  }
}
