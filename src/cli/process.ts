import { describeError, Interrupted } from '../errors.ts'

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

/** From now on an error of a cut connection is logged instead of ending the process: a service has other connections. */
export function surviveCuts(serviceLog: NonNullable<typeof log>): void {
  log = serviceLog
}

/** For a command to fail by itself. */
const STRAY_MS = 5000

/**
 * Handles an error that no promise has caught. If a statement is sent in a transaction whose connection was cut,
 * postgres.js 3.4.9 uses a socket that is null, later, in a timer: a TypeError of the engine. The transaction fails too,
 * and so the command says why, or a service goes on. What else can arrive here is a fault: an error in a timer or an event
 * handler of ours, a TypeError among them. Such a fault ends a command, at once or after STRAY_MS.
 */
export function handleStray(error: Error, exit: () => void): void {
  const end = () => {
    process.stderr.write(`axport: ${describeError(error, process.argv[2])}\n`)
    exit()
  }
  if (!(error instanceof TypeError)) end()
  else if (!log) setTimeout(end, STRAY_MS)
  else
    log.error({ reason: error.message }, 'a connection to the database was lost while nothing waited for it')
}
