import { within } from '../within.ts'
import { thisProgram } from './this-program.ts'
import type { FromWorker, Reports, ToWorker } from './worker-messages.ts'

/** How a worker ended. */
export interface Ended {
  /** "exit code 1" or "SIGKILL". */
  how: string
  /** The line it failed with, without "axport: ", where it said one. */
  complaint: string | undefined
}

/** A worker as its supervisor sees it. */
export interface WorkerProcess {
  pid: number
  /** performance.now() of its start. */
  started: number
  prepared: Promise<void>
  listening: Promise<void>
  isListening(): boolean
  isRunning(): boolean
  ended: Promise<Ended>
  tell(message: ToWorker): void
  /** What it reports, or undefined when it does not answer: it has ended, or it hangs. */
  ask<About extends keyof Reports>(about: About): Promise<Reports[About] | undefined>
  kill(): void
}

/** Milliseconds for a report: more than its parts take, less than Prometheus waits. */
const REPORT_PATIENCE = 5000

/**
 * Starts this program again as worker `number`. It writes its log straight to our standard output, each line
 * with one write below the size that a pipe keeps whole, so that a line costs the supervisor nothing.
 */
export function startWorker(number: number): WorkerProcess {
  const prepared = Promise.withResolvers<void>()
  const listening = Promise.withResolvers<void>()
  const asked = new Map<number, (report: unknown) => void>()
  let isListening = false
  let questions = 0
  const child = Bun.spawn([...thisProgram(), 'serve', '--worker', String(number)], {
    stdin: 'ignore',
    stdout: 'inherit',
    stderr: 'pipe',
    ipc: (message: FromWorker) => {
      if (message.kind === 'prepared') prepared.resolve()
      if (message.kind === 'report') asked.get(message.question)?.(message.report)
      if (message.kind === 'listening') {
        isListening = true
        listening.resolve()
      }
    },
  })
  // Not a race of each question against the end: that would collect all answers for as long as the worker lives.
  void child.exited.then(() => {
    for (const answer of asked.values()) answer(undefined)
  })
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  const tell = (message: ToWorker) => {
    // It may have ended in this very moment; then it has nothing to be told.
    if (!hasEnded()) child.send(message)
  }
  return {
    pid: child.pid,
    started: performance.now(),
    prepared: prepared.promise,
    listening: listening.promise,
    isListening: () => isListening && !hasEnded(),
    isRunning: () => !hasEnded(),
    ended: endOf(child),
    tell,
    ask: async <About extends keyof Reports>(about: About) => {
      const question = ++questions
      try {
        const report = new Promise(resolve => asked.set(question, resolve))
        tell({ kind: 'ask', question, about })
        return (await within(REPORT_PATIENCE, report, undefined)) as Reports[About] | undefined
      } finally {
        asked.delete(question)
      }
    },
    kill: () => child.kill('SIGKILL'),
  }
}

async function endOf(child: Bun.Subprocess<'ignore', 'inherit', 'pipe'>): Promise<Ended> {
  const [complaints] = await Promise.all([new Response(child.stderr).text(), child.exited])
  const [, complaint] = /^axport: (.*)$/m.exec(complaints) ?? []
  // Anything else than the one line of a command that failed comes from the runtime, and is worth seeing.
  if (complaint === undefined) process.stderr.write(complaints)
  return { how: child.signalCode ? String(child.signalCode) : `exit code ${child.exitCode}`, complaint }
}
