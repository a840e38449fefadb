import type { SimulatedTime } from './time.ts'

/** What a network does to everything that goes through it. */
export interface Network {
  /** While it is silent, messages of both directions wait. */
  isSilent: boolean
}

interface Message {
  hear(): void
  arrive(): void
}

/** To the server, or from it. */
export type Direction = 'up' | 'down'

/** Milliseconds that a message travels, at most. */
const LATENCY = 4

/** A connection of the network: messages arrive later, in their order, or never. */
export class Link {
  readonly #said: Record<Direction, Message[]> = { up: [], down: [] }
  readonly #arrived: Message[] = []
  #isForgotten = false

  constructor(
    private readonly time: SimulatedTime,
    private readonly network: Network,
    private readonly chance: () => number,
  ) {}

  /** A firewall drops all its messages silently from now on. */
  forget(): void {
    this.#isForgotten = true
  }

  /** @param arrive called when the message has reached the machine, which may not read it yet */
  say(direction: Direction, hear: () => void, arrive = () => {}): void {
    this.#said[direction].push({ hear, arrive })
    this.#carry(direction)
  }

  /** The network is no longer silent. */
  resume(): void {
    for (const direction of ['up', 'down'] as const)
      for (const _ of this.#said[direction]) this.#carry(direction)
  }

  #carry(direction: Direction): void {
    this.time.add('outside', this.chance() * LATENCY, () => {
      if (this.network.isSilent || this.#isForgotten) return
      const message = this.#said[direction].shift()
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
