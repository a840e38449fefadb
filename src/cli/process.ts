import { describeError } from '../database/describe-error.ts'
import { verdictOn } from '../database/failures.ts'
import { Failure, Interrupted } from '../errors.ts'
import { Interruption } from '../interruption.ts'
import { within } from '../timeouts.ts'

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
 * For how long an interrupted command may report what it changed, or may have changed. Without a change it ends at once. Not
 * for ever, because it may hang on a pipe.
 */
const REPORT_MS = 2000

/**
 * Runs work, which Ctrl-C or SIGTERM ends. After the work, a signal ends the process as if there had been none.
 * @throws Interrupted; the errors of the work
 */
export async function interruptible<Result>(
  work: (interruption: Interruption) => Promise<Result>,
  message: (interruption: Interruption) => string,
): Promise<Result> {
  const interruption = new Interruption()
  const over = Promise.withResolvers<never>()
  const ended = work(interruption)
  const stopListening = onceSignalled(() => {
    interruption.request()
    const reportMs = interruption.commit === 'none' ? 0 : REPORT_MS
    within(reportMs, ended, undefined).then(over.reject, over.reject)
  })
  try {
    const result = await Promise.race([ended, over.promise])
    if (!interruption.isRequested) return result
  } catch (error) {
    if (!interruption.isRequested) throw error
    // After a signal, anything fails because the connections were ended. After a commit, a failure says what remains to do.
    if (interruption.commit === 'done' && error instanceof Failure)
      throw new Interrupted(`interrupted: ${error.message}`)
  } finally {
    stopListening()
  }
  throw new Interrupted(message(interruption))
}

/**
 * Handles an error that nothing in the program waits for. It is a fault of ours, and ends the process with one line. One
 * error is not: when postgres.js 3.4.9 loses a new connection, its question for the types of arrays fails, which nothing
 * awaits. The statement for which it connected fails too, and tells the command.
 */
export function handleStray(error: unknown, exit: () => void): void {
  if (verdictOn(error) === 'cut') return
  process.stderr.write(`axport: ${describeError(error, process.argv[2])}\n`)
  exit()
}
