import type { ParameterOrJSON } from 'postgres'
import type { Backend } from '../../../src/postgres/connection/socket.ts'
import type { Wire } from '../../../src/postgres/connection/wire.ts'
import { closedError } from '../../../src/postgres/failures.ts'
import type { Host } from './host.ts'
import type { Link } from './link.ts'
import type { Process } from './process.ts'

/** The text of all statements in plans. The parameter of a statement is its id. */
export const ASK = 'ask'

/** A message of a server. */
export type Answer = { rows: object } | { error: Error } | { part: true }

/** A connection to a simulated server, in place of a connection of postgres.js through a socket. */
export class SimulatedWire implements Wire {
  bytesRead = 0
  onEnd = () => {}
  process: Process | undefined
  #asking: { resolve(rows: object): void; reject(error: Error): void } | undefined
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
    if (this.#asking) this.host.observer.wrong('two statements at once on one connection')
    const { promise, resolve, reject } = Promise.withResolvers<object>()
    this.#asking = { resolve, reject }
    if (text === ASK) this.host.observer.sent(Number(parameters[0]))
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
    if (this.#asking) this.host.observer.wrong('a goodbye while a statement runs')
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
    this.#asking?.reject(closedError())
    this.#asking = undefined
    this.#leave()
  }

  /** The program has read a message of the server. */
  hear(answer: Answer): void {
    if (this.#isOver) return
    this.bytesRead++
    if ('part' in answer) return
    const asking = this.#asking
    this.#asking = undefined
    if ('rows' in answer) asking?.resolve(answer.rows)
    else asking?.reject(answer.error)
  }

  /** The server or the network has closed the connection. */
  hearEnd(error: Error): void {
    this.#sayGone()
    if (this.#isOver) return
    this.#asking?.reject(error)
    this.#asking = undefined
    this.#end()
  }

  #leave(): void {
    if (this.#isOver) return
    this.link.say('up', () => this.process?.leave())
    this.#end()
  }

  #end(): void {
    this.#isOver = true
    if (this.#isHandedOver) this.host.observer.hold(-1)
    this.onEnd()
  }
}
