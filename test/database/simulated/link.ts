import type { SimulatedTime } from './time.ts'

/** The state of a network, which applies to all of its connections. */
export interface Network {
  /** Whether messages of both directions wait. */
  isSilent: boolean
}

interface Message {
  hear(): void
  arrive(): void
}

/** The direction of a message: to the server, or from the server. */
export type Direction = 'up' | 'down'

/** The largest delay of a message, in milliseconds. */
const LATENCY = 4

/** A connection through the network. Messages arrive later, in their order, or never. */
export class Link {
  readonly #messages: Record<Direction, Message[]> = { up: [], down: [] }
  readonly #arrived: Message[] = []
  #isForgotten = false
  #isClosed = false

  constructor(
    private readonly time: SimulatedTime,
    private readonly network: Network,
    private readonly chance: () => number,
  ) {}

  /** A firewall silently drops all further messages. */
  forget(): void {
    this.#isForgotten = true
  }

  /** The program has closed its end. */
  close(): void {
    this.#isClosed = true
  }

  /** Whether the program still holds it, and will never hear from it again. */
  get isLost(): boolean {
    return this.#isForgotten && !this.#isClosed
  }

  /** @param arrive called when the message has reached the machine; the program may read it later */
  say(direction: Direction, hear: () => void, arrive = () => {}): void {
    this.#messages[direction].push({ hear, arrive })
    this.#carry(direction)
  }

  /** Ends the silence of the network. */
  resume(): void {
    for (const direction of ['up', 'down'] as const)
      for (const _ of this.#messages[direction]) this.#carry(direction)
  }

  #carry(direction: Direction): void {
    this.time.add('outside', this.chance() * LATENCY, () => {
      if (this.network.isSilent || this.#isForgotten) return
      const message = this.#messages[direction].shift()
      if (direction === 'up') message?.hear()
      else if (message) this.#arrive(message)
    })
  }

  /** The kernel keeps a message until the program reads it. */
  #arrive(message: Message): void {
    message.arrive()
    this.#arrived.push(message)
    this.time.add('read', 0, () => this.#arrived.shift()?.hear())
  }
}
