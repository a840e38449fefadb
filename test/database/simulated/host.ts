import { onTimeout } from '../../../src/database/connection/clock.ts'
import type { Backend } from '../../../src/database/connection/socket.ts'
import type { Dial } from '../../../src/database/connection/wire.ts'
import { closedError, timeoutError } from '../../../src/database/failures.ts'
import { Link } from './link.ts'
import type { Observer } from './observer.ts'
import type { Setting } from './plan.ts'
import { Process } from './process.ts'
import { LATENESS, type SimulatedTime } from './time.ts'
import { SimulatedWire } from './wire.ts'

/** The reaction of a host to new connections. */
export type Door =
  | 'open'
  /** Nothing listens. */
  | 'shut'
  /** Connections are accepted and closed. */
  | 'closing'
  /** The server has no free connection. */
  | 'full'
  /** The server is starting. */
  | 'starting'

/** The largest delay, in milliseconds, of one direction while a socket is opened. */
const LATENCY = 4

/** A simulated Postgres server, and the network in front of it. */
export class Host {
  door: Door = 'open'
  isSilent = false
  /** Whether cancel requests are lost. */
  isDeafToCancel = false
  isStandby = false
  /** Whether a pooler is in front, which invents process ids and does not pass statement_timeout on. */
  readonly isPooled: boolean
  /** The statement timeout in milliseconds. */
  readonly timeout: number
  /** A number that changes with each start. */
  startedAt = 1
  readonly processes = new Map<number, Process>()
  /** All connections, including ended ones, whose last message may still be in flight. */
  readonly links: Link[] = []
  #nextPid = 1
  /** The work that waits for the end of a silence. */
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

  readonly dial: Dial = (_, timeoutMs, signal) => {
    this.observer.hold(1)
    return this.#reach(timeoutMs, () => this.#accept(), { signal }).then(
      wire => wire.handOver(),
      error => {
        this.observer.hold(-1)
        throw error
      },
    )
  }

  /** Like cancelBackend() in src. */
  cancel({ pid, secret }: Backend, timeoutMs: number): Promise<void> {
    return this.#reach(
      timeoutMs,
      () => {
        if (this.isDeafToCancel) return 'unheard'
        const process = this.processes.get(pid)
        return process?.secret === secret ? process.cancel() : undefined
      },
      { actsAfterTimeout: true },
    )
  }

  /** Like a query of pg_stat_activity. */
  activity(): object {
    return Array.from(this.processes.values(), ({ pid, idle }) => ({ pid, idle }))
  }

  /** Ends all connections, with or without a message of the server. */
  restart(): void {
    const code = this.chance() < 0.5 ? '57P01' : undefined
    for (const process of [...this.processes.values()]) process.end(code)
    this.startedAt++
  }

  /** Ends a silence. Delayed messages arrive. Connections that were being opened may be lost. */
  resume(isForgotten = false): void {
    this.isSilent = false
    for (const link of this.links) link.resume()
    for (const hear of this.#unheard.splice(0)) if (!isForgotten) hear()
  }

  /** Whether the program holds a connection from which it will never hear again. */
  get hasLost(): boolean {
    return this.links.some(({ isLost }) => isLost)
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
   * Opens a socket and lets the server act. Resolves when the result has arrived.
   * @param actsAfterTimeout whether the server also acts after the timeout
   * @param signal ends the attempt
   */
  #reach<Result>(
    timeoutMs: number,
    act: () => Result | 'unheard',
    { actsAfterTimeout = false, signal }: { actsAfterTimeout?: boolean; signal?: AbortSignal | undefined },
  ): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    let isOver = false
    const giveUp = () => {
      isOver = true
      reject(timeoutError())
    }
    const settle = onTimeout(timeoutMs, giveUp, this.time)
    const abort = () => {
      settle()
      isOver = true
      reject(closedError())
    }
    if (signal?.aborted) abort()
    signal?.addEventListener('abort', abort, { once: true })
    const hear = () => {
      if (isOver && !actsAfterTimeout) return
      if (this.isSilent) {
        this.#unheard.push(hear)
        return
      }
      const isShut = this.door === 'shut'
      const result = isShut ? undefined : act()
      if (result === 'unheard') return
      const read = () => {
        settle()
        signal?.removeEventListener('abort', abort)
        if (isOver) return
        if (isShut) reject(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }))
        else resolve(result as Result)
      }
      this.time.add('outside', this.chance() * LATENCY, () => this.time.add('read', 0, read))
    }
    // Opening a socket takes a round trip, so an earlier statement has arrived by then.
    this.time.add('outside', (1 + this.chance()) * LATENCY + LATENESS, hear)
    return promise
  }
}
