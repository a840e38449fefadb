import { Interrupted } from '../errors.ts'

/** The command that started this process; the executable has no script to name. */
export function thisProgram(): string[] {
  const isCompiled = /^(\/\$bunfs\/|[A-Z]:[\\/]~BUN[\\/])/.test(Bun.main)
  return isCompiled ? [process.execPath] : [process.execPath, '--no-env-file', Bun.main]
}

/** Resolves with the name of the first SIGINT or SIGTERM; a second one ends the process at once. */
export function terminated(): Promise<string> {
  const signals = ['SIGINT', 'SIGTERM'] as const
  return new Promise(resolve => {
    const end = (signal: string) => {
      for (const each of signals) process.off(each, end)
      resolve(signal)
    }
    for (const each of signals) process.on(each, end)
  })
}

/** Runs work, which Ctrl-C or SIGTERM aborts. Aborted work may hang on a pipe: it is not awaited. @throws Interrupted */
export async function interruptible<Result>(
  work: (signal: AbortSignal) => Promise<Result>,
  message: () => string,
): Promise<Result> {
  const controller = new AbortController()
  const interrupted = terminated().then(() => {
    controller.abort()
    throw new Interrupted(message())
  })
  return await Promise.race([work(controller.signal), interrupted])
}

let log: { error(details: object, message: string): void } | undefined

/** From now on a lost connection is logged instead of ending the process: a service has other connections. */
export function surviveCuts(serviceLog: NonNullable<typeof log>): void {
  log = serviceLog
}

/** Whether the process may go on after an uncaught error: only if postgres.js wrote to a closed connection. */
export function isSurvived(error: Error): boolean {
  if (!log || !/socket\.write/.test(error.message)) return false
  log.error({ reason: error.message }, 'a connection to the database was lost while nothing waited for it')
  return true
}
