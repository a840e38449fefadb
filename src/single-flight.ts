/** Calls share work in progress: probes of a database that hangs send one statement, and not one for each probe. */
export function singleFlight<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | undefined
  return () => {
    running ??= work().finally(() => (running = undefined))
    return running
  }
}
