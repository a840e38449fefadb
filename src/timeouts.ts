/** Resolves with `work`, or with `otherwise` after a timeout. */
export async function within<Result, Otherwise>(
  timeoutMs: number,
  work: Promise<Result>,
  otherwise: Otherwise,
): Promise<Result | Otherwise> {
  const timeout = Promise.withResolvers<Otherwise>()
  const timer = setTimeout(timeout.resolve, timeoutMs, otherwise)
  return await Promise.race([work, timeout.promise]).finally(() => clearTimeout(timer))
}

/** The event loop needs this long to read what had already arrived. */
export const READ_GRACE_MS = 20

/**
 * Calls `act` after `ms` and one more read of the event loop: in a process that was stopped (SIGSTOP, a frozen container),
 * timers fire before the event loop reads answers that arrived in the meantime. @returns cancels the call
 */
export function onTimeout(ms: number, act: () => void): () => void {
  let timer = setTimeout(
    () => {
      timer = setTimeout(act, READ_GRACE_MS)
    },
    Math.max(0, ms),
  )
  return () => clearTimeout(timer)
}
