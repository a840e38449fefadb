/** Time as the pool has it: that of the machine, or of a simulation. */
export interface Clock {
  /** Milliseconds since a moment that stays the same. */
  now(): number
  /**
   * Calls `act` once, when so many milliseconds are over.
   * @returns keeps `act` from being called
   */
  after(milliseconds: number, act: () => void): () => void
  /**
   * Calls `act` each time so many milliseconds are over; no process stays for that alone.
   * @returns ends it
   */
  every(milliseconds: number, act: () => void): () => void
  /** So many milliseconds or less, half as many at least: never the same for two processes. */
  about(milliseconds: number): number
}

/** That of the machine. */
export const MACHINE: Clock = {
  now: () => performance.now(),
  after(milliseconds, act) {
    const timer = setTimeout(act, Math.max(0, milliseconds))
    return () => clearTimeout(timer)
  },
  every(milliseconds, act) {
    const timer = setInterval(act, milliseconds).unref()
    return () => clearInterval(timer)
  },
  about: milliseconds => milliseconds * (0.5 + Math.random() / 2),
}
