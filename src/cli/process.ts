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

let onCut: (() => void) | undefined

/** From now on the error of a cut transaction calls `act` instead of ending the process: a feed has further rounds. */
export function surviveCuts(act: () => void): void {
  onCut = act
}

/** For a command to fail by itself. */
const STRAY_MS = 5000

/**
 * Handles an error that no promise has caught. If a statement is sent in a transaction whose connection was cut,
 * postgres.js 3.4.9 uses a socket that is null, later, in a timer: a TypeError of the engine. The transaction fails too,
 * and so the command says why, or a feed goes on. What else can arrive here is a fault: an error in a timer or an event
 * handler of ours, a TypeError among them. Such a fault ends the process, at once or after STRAY_MS. In `serve` every error
 * is one, because the pool for requests begins no transaction of postgres.js.
 */
export function handleStray(error: Error, exit: () => void): void {
  const end = () => {
    process.stderr.write(`axport: ${describeError(error, process.argv[2])}\n`)
    exit()
  }
  if (!(error instanceof TypeError)) end()
  else if (onCut) onCut()
  else setTimeout(end, STRAY_MS)
}
