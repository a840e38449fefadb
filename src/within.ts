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

/** Calls share work in progress: probes of a database that hangs send one statement, and not one for each probe. */
export function shared<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | undefined
  return () => {
    running ??= work().finally(() => (running = undefined))
    return running
  }
}
