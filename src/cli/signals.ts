import { Interrupted } from '../errors.ts'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** Resolves with the name of the first signal that asks the process to end; a second one ends it at once. */
export function terminated(): Promise<string> {
  return new Promise(resolve => {
    const end = (signal: string) => {
      for (const each of SIGNALS) process.off(each, end)
      resolve(signal)
    }
    for (const each of SIGNALS) process.on(each, end)
  })
}

/** Calls `reload` at each SIGHUP from now on, which would end the process otherwise. */
export function onHangup(reload: () => void): void {
  process.on('SIGHUP', reload)
}

/**
 * Runs work that Ctrl-C or SIGTERM ends, which it learns by its signal. It is not waited for then: it may be
 * in the middle of reading something that never comes.
 * @param message what to tell about it, asked at that moment
 * @throws Interrupted
 */
export async function interruptible<Result>(
  work: (signal: AbortSignal) => Promise<Result>,
  message: () => string,
): Promise<Result> {
  const controller = new AbortController()
  const interrupted = terminated().then(() => {
    const error = new Interrupted(message())
    controller.abort()
    throw error
  })
  const result = work(controller.signal)
  // Its failure is a consequence of the signal, when that came first.
  result.catch(() => {})
  return await Promise.race([result, interrupted])
}
