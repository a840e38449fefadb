import type { Clock } from '../../../src/database/connection/clock.ts'

/** Returns a number from 0 to below 1. */
export type Chance = () => number

/** Returns the same numbers for the same seed (mulberry32). */
export function chanceFrom(seed: number): Chance {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/**
 * The kinds of events. timer: a timer of the program under test. read: the program reads from a socket or a
 * client. outside: happens even while the program is suspended.
 */
type Kind = 'timer' | 'read' | 'outside'

interface Event {
  at: number
  kind: Kind
  act: () => void
}

/** The largest delay of a busy event loop in milliseconds. Events within this time may change their order. */
export const LATENESS = 2

/** A clock that jumps from event to event. The order of simultaneous events is random. */
export class SimulatedTime implements Clock {
  #now = 1000
  /** When the last suspension ends, or has ended. */
  resumesAt = 0
  readonly #events: Event[] = []

  constructor(private readonly chance: Chance) {}

  now(): number {
    return this.#now
  }

  after(milliseconds: number, act: () => void): () => void {
    return this.add('timer', milliseconds, act)
  }

  every(milliseconds: number, act: () => void): () => void {
    let cancel = () => {}
    const arm = () => {
      cancel = this.after(milliseconds, () => {
        arm()
        act()
      })
    }
    arm()
    return () => cancel()
  }

  jitter(milliseconds: number): number {
    return milliseconds * (0.5 + this.chance() / 2)
  }

  /** @returns a function that cancels the event */
  add(kind: Kind, milliseconds: number, act: () => void): () => void {
    const event = { at: this.#now + Math.max(0, milliseconds), kind, act }
    this.#events.push(event)
    return () => {
      const index = this.#events.indexOf(event)
      if (index >= 0) this.#events.splice(index, 1)
    }
  }

  /** Suspends the program (SIGSTOP, a frozen container). Everything outside continues. */
  stop(milliseconds: number): void {
    this.resumesAt = Math.max(this.resumesAt, this.#now + milliseconds)
  }

  get isStopped(): boolean {
    return this.#now < this.resumesAt
  }

  /** The number of timers that are set. */
  get armed(): number {
    return this.#events.filter(({ kind }) => kind === 'timer').length
  }

  /** Runs the next event before `end`, or moves the clock to `end`. @returns whether `end` is not reached */
  step(end: number): boolean {
    const { isStopped } = this
    const limit = isStopped ? this.resumesAt : end
    let earliest = limit
    for (let index = 0; index < this.#events.length; index++) {
      const { at, kind } = this.#events[index] as Event
      if (at < earliest && (!isStopped || kind === 'outside')) earliest = at
    }
    if (earliest >= limit) {
      this.#now = Math.max(this.#now, limit)
      return isStopped
    }
    const event = this.#draw(earliest < this.#now ? this.#now : earliest + LATENESS, isStopped)
    this.#now = Math.max(this.#now, event.at)
    event.act()
    return true
  }

  /** Removes a random one of the due events. */
  #draw(until: number, isStopped: boolean): Event {
    let count = 0
    let drawn = 0
    let isLate = false
    // Plain loops instead of array methods: all events are searched at each step.
    for (let index = 0; index < this.#events.length; index++) {
      const { at, kind } = this.#events[index] as Event
      if (at > until || (isStopped && kind !== 'outside')) continue
      // After a suspension, timers fire before the program reads what arrived meanwhile.
      const isTimerLate = kind === 'timer' && at <= this.resumesAt
      if (isTimerLate && !isLate) {
        isLate = true
        count = 0
      }
      if (isTimerLate === isLate && this.chance() * ++count < 1) drawn = index
    }
    const [event] = this.#events.splice(drawn, 1)
    return event as Event
  }
}
