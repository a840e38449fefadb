/** Resolves with the name of the first signal that asks the process to end. */
export function terminated(): Promise<string> {
  return new Promise(resolve => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve(signal))
  })
}
