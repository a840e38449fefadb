import type { Clock } from '../connection/clock.ts'
import type { Connection, Open } from '../connection/connection.ts'
import { closedError } from '../failures.ts'

/** The pause before an attempt doubles from the first to the last, while none succeeds. */
const FIRST_PAUSE_MS = 100
const LAST_PAUSE_MS = 500

/** The attempts of a pool to open connections, and the pauses between them. */
export class Attempts {
  /** In the order in which they began. */
  readonly #running = new Set<AbortController>()
  /** Since the last attempt that succeeded. */
  #pauses = 0
  /** Stops the pause; undefined if there is none. */
  #stopPause: (() => void) | undefined

  constructor(
    private readonly open: Open,
    private readonly clock: Clock,
  ) {}

  /** How many are under way. */
  get size(): number {
    return this.#running.size
  }

  get isPausing(): boolean {
    return this.#stopPause !== undefined
  }

  /** Opens a connection. @returns undefined if the attempt was ended. @throws as `open` */
  async connect(timeoutMs: number): Promise<Connection | undefined> {
    const attempt = new AbortController()
    this.#running.add(attempt)
    try {
      const connection = await this.open(timeoutMs, attempt.signal)
      if (!this.#running.has(attempt)) connection.destroy()
      else if (connection.isClosed) throw closedError()
      else {
        this.#endPause()
        return connection
      }
    } catch (error) {
      if (this.#running.has(attempt)) throw error
    } finally {
      this.#running.delete(attempt)
    }
    return undefined
  }

  /** Begins a pause and then calls `act`. @returns how many there were in a row; 0 if there is a pause already */
  pause(act: () => void): number {
    if (this.#stopPause) return 0
    const ms = Math.min(FIRST_PAUSE_MS * 2 ** this.#pauses++, LAST_PAUSE_MS)
    this.#stopPause = this.clock.after(this.clock.jitter(ms), () => {
      this.#stopPause = undefined
      act()
    })
    return this.#pauses
  }

  /** Ends the one that began last. */
  endNewest(): void {
    const newest = [...this.#running].at(-1)
    if (newest) this.#end(newest)
  }

  /** Ends all of them, and the pause. */
  endAll(): void {
    for (const attempt of this.#running) this.#end(attempt)
    this.#endPause()
  }

  #end(attempt: AbortController): void {
    this.#running.delete(attempt)
    attempt.abort()
  }

  #endPause(): void {
    this.#stopPause?.()
    this.#stopPause = undefined
    this.#pauses = 0
  }
}
