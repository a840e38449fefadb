/** The time of the machine. Durations are milliseconds. */
export const SYSTEM_CLOCK = {
  now: () => performance.now(),
  /** Calls `act` once, after `ms`. @returns cancels the call */
  after(ms: number, act: () => void): () => void {
    const timer = setTimeout(act, Math.max(0, ms))
    return () => clearTimeout(timer)
  },
  /** Calls `act` every `ms`, without keeping the process alive. @returns ends the calls */
  every(ms: number, act: () => void): () => void {
    const timer = setInterval(act, ms).unref()
    return () => clearInterval(timer)
  },
  /** A random duration from half of `ms` to `ms`, so that processes do not act in step. */
  jitter: (ms: number): number => ms * (0.5 + Math.random() / 2),
}

/** Time as the connection pool sees it: the machine's, or a simulation's. */
export type Clock = typeof SYSTEM_CLOCK

/** The event loop needs this long to read what had already arrived. */
export const READ_GRACE_MS = 20

/**
 * Calls `act` after `ms` and one more read of the event loop: in a process that was stopped (SIGSTOP, a frozen container),
 * timers fire before the event loop reads answers that arrived in the meantime. @returns cancels the call
 */
export function onTimeout(ms: number, act: () => void, clock: Clock = SYSTEM_CLOCK): () => void {
  let cancel = clock.after(ms, () => {
    cancel = clock.after(READ_GRACE_MS, act)
  })
  return () => cancel()
}
