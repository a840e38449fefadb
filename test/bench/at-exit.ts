const works = new Set<() => void>()

/** Has `work` done when this process exits, by Ctrl-C too; call what is returned where it is no longer needed. */
export function atExit(work: () => void): () => void {
  works.add(work)
  return () => void works.delete(work)
}

/** To be called once. A process that is ended by a signal has no exit of its own: it gets one here. */
export function handleExits(): void {
  process.on('exit', () => {
    for (const work of works) work()
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130))
}
