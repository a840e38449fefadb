/** Resolves with `work`, or with `otherwise` after a timeout. */
export async function within<Result, Otherwise>(
  timeoutMs: number,
  work: Promise<Result>,
  otherwise: Otherwise,
): Promise<Result | Otherwise> {
  let timer: Timer | undefined
  const timeout = new Promise<Otherwise>(resolve => {
    timer = setTimeout(() => resolve(otherwise), timeoutMs)
  })
  try {
    return await Promise.race([work, timeout])
  } finally {
    clearTimeout(timer)
  }
}

/** Calls share work in progress: probes of a database that hangs send one statement, and not one for each probe. */
export function shared<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | undefined
  return () => {
    running ??= work().finally(() => {
      running = undefined
    })
    return running
  }
}
