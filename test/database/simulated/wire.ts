import type { ParameterOrJSON } from 'postgres'
import type { Backend } from '../../../src/database/connection/socket.ts'
import type { Wire } from '../../../src/database/connection/wire.ts'
import { closedError } from '../../../src/database/failures.ts'
import type { Host } from './host.ts'
import type { Link } from './link.ts'
import type { Process } from './process.ts'
import type { Run } from './questions.ts'

/** The text of all statements in plans. The parameter of a statement is its id. */
export const ASK = 'ask'

/** The status in ReadyForQuery: outside a transaction, in one, in a failed one. */
export type Status = 'I' | 'T' | 'E'

/** A message of a server. Without a status, no ReadyForQuery has followed it yet. */
export type Answer = ({ rows: object } | { error: Error } | { part: true }) & { status?: Status }

interface Waiting {
  resolve(rows: object): void
  reject(error: Error): void
}

/** A connection to a simulated server, in place of a connection of postgres.js through a socket. */
export class SimulatedWire implements Wire {
  onData = () => {}
  onEnd = () => {}
  process: Process | undefined
  isIdle = false
  hasFailed = false
  /** The lease that used it last. */
  lastRun: Run | undefined
  /** The statements without an answer, in the order in which they were sent. */
  readonly #asking: Waiting[] = []
  #isHandedOver = false
  #isOver = false
  #isCancelling = false
  #sayGone = () => {}

  constructor(
    private readonly link: Link,
    private readonly host: Host,
  ) {}

  /** The pool owns the connection from now on. */
  handOver(): this {
    this.#isHandedOver = true
    if (this.#isOver) this.host.observer.hold(-1)
    return this
  }

  send(text: string, parameters: ParameterOrJSON<never>[]): Promise<object> {
    if (this.#isOver) return Promise.reject(closedError())
    const { observer } = this.host
    if (text === ASK || observer.speaker) observer.sent(this, text, Number(parameters[0]))
    else if (this.#asking.length > 0) observer.wrong('a test of a connection while a statement runs')
    const { promise, resolve, reject } = Promise.withResolvers<object>()
    this.#asking.push({ resolve, reject })
    this.link.say('up', () => this.process?.run(text, parameters))
    return promise
  }

  // biome-ignore lint/correctness/useYield: no request copies
  async *copy(): AsyncGenerator<Uint8Array, void, undefined> {
    this.host.observer.wrong('a copy by the pool for requests')
  }

  cancel(backend: Backend, timeoutMs: number): Promise<void> {
    if (this.#isCancelling) this.host.observer.wrong('two requests to cancel at once for one connection')
    this.#isCancelling = true
    return this.host.cancel(backend, timeoutMs).finally(() => {
      this.#isCancelling = false
    })
  }

  close(timeoutMs: number): Promise<void> {
    if (this.#asking.length > 0) this.host.observer.wrong('a goodbye while a statement runs')
    const { promise, resolve } = Promise.withResolvers<void>()
    const settle = this.host.time.after(timeoutMs, resolve)
    this.#sayGone = () => {
      settle()
      resolve()
    }
    if (this.#isOver) this.#sayGone()
    this.#leave()
    return promise
  }

  destroy(): void {
    this.#fail(closedError())
    this.#leave()
  }

  /** The program has read a message of the server. */
  hear(answer: Answer): void {
    if (this.#isOver) return
    this.onData()
    this.isIdle = answer.status === 'I'
    if ('part' in answer) return
    this.hasFailed = 'error' in answer
    const asking = this.#asking.shift()
    if ('rows' in answer) asking?.resolve(answer.rows)
    else asking?.reject(answer.error)
  }

  /** The server or the network has closed the connection. */
  hearEnd(error: Error): void {
    this.#sayGone()
    if (this.#isOver) return
    this.#fail(error)
    this.#end()
  }

  #fail(error: Error): void {
    for (const { reject } of this.#asking.splice(0)) reject(error)
  }

  #leave(): void {
    if (this.#isOver) return
    this.link.say('up', () => this.process?.leave())
    this.#end()
  }

  #end(): void {
    this.#isOver = true
    if (this.link.isLost) this.host.observer.trouble(this.host.time.now())
    this.link.close()
    if (this.#isHandedOver) this.host.observer.hold(-1)
    this.onEnd()
  }
}
