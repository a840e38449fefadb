import { describeError, Interrupted } from '../errors.ts'

/** The command that started this process; the executable has no script to name. */
export function thisProgram(): string[] {
  const isCompiled = /^(\/\$bunfs\/|[A-Z]:[\\/]~BUN[\\/])/.test(Bun.main)
  return isCompiled ? [process.execPath] : [process.execPath, '--no-env-file', Bun.main]
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** Calls `act` at the first SIGINT or SIGTERM; a second one ends the process at once. @returns stops listening */
function onceSignalled(act: (signal: string) => void): () => void {
  const stop = () => {
    for (const each of SIGNALS) process.off(each, end)
  }
  const end = (signal: string) => {
    stop()
    act(signal)
  }
  for (const each of SIGNALS) process.on(each, end)
  return stop
}

/** Resolves with the name of the first SIGINT or SIGTERM; a second one ends the process at once. */
export function terminated(): Promise<string> {
  return new Promise(resolve => void onceSignalled(resolve))
}

/**
 * Runs work, which Ctrl-C or SIGTERM aborts. Aborted work may hang on a pipe: it is not awaited. After the work, a signal
 * ends the process as if there had been none. @throws Interrupted
 */
export async function interruptible<Result>(
  work: (signal: AbortSignal) => Promise<Result>,
  message: () => string,
): Promise<Result> {
  const controller = new AbortController()
  const interrupted = Promise.withResolvers<never>()
  const stopListening = onceSignalled(() => {
    controller.abort()
    interrupted.reject(new Interrupted(message()))
  })
  try {
    return await Promise.race([work(controller.signal), interrupted.promise])
  } finally {
    stopListening()
  }
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
