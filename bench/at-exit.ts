const works = new Set<() => void>()

/** Calls `work` when this process exits, also after Ctrl-C. The returned function cancels that. */
export function atExit(work: () => void): () => void {
  works.add(work)
  return () => void works.delete(work)
}

/** Makes signals end this process through process.exit(), so that atExit() works. Call this function once. */
export function handleExits(): void {
  process.on('exit', () => {
    for (const work of works) work()
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130))
}
