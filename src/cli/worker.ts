import { setting } from '../config.ts'
import { Interrupted, UsageFailure } from '../errors.ts'
import type { MetricsJson } from '../http/admin/metrics.ts'
import type { Readiness } from '../http/admin/readiness.ts'
import { within } from '../within.ts'
import { thisProgram } from './process.ts'
import { Service } from './service.ts'
import { createLog } from './serving.ts'
import { withDatabase } from './with-database.ts'

/** What a supervisor can ask a worker for. */
interface Reports {
  /** An answer that needs nothing but the event loop of the worker. */
  presence: true
  readiness: Readiness
  metrics: MetricsJson
}

/** Over Bun's IPC channel: the database is open; the port is listened on; the answer to a question. */
type FromWorker =
  | { kind: 'prepared' }
  | { kind: 'listening' }
  | { kind: 'report'; question: number; report: Reports[keyof Reports] }

/** Listen on this port; read the certificate again; answer a question; finish the requests in flight and end. */
type ToWorker =
  | { kind: 'listen'; port: number }
  | { kind: 'reload' }
  | { kind: 'ask'; question: number; about: keyof Reports }
  | { kind: 'stop' }

/**
 * Serves DATABASE_URL as worker `number`, until its supervisor stops it or ends.
 * @throws UsageFailure if no supervisor started this process
 */
export async function serveAsWorker(number: number): Promise<void> {
  if (!process.send)
    throw new UsageFailure(
      'serve --worker is for the processes that serve --workers starts: did you mean --workers?',
    )
  const send = (message: FromWorker) => void process.send?.(message)
  // Ctrl-C and service managers signal every process of the group; only the supervisor ends a worker.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  const abandoned = Promise.withResolvers<never>()
  process.on('disconnect', () => abandoned.reject(new Interrupted('')))
  const assignedPort = Promise.withResolvers<number>()
  const stopped = Promise.withResolvers<undefined>()
  let service: Service | undefined
  const reports = {
    presence: async (): Promise<true> => true,
    readiness: async () => await service?.readiness(),
    metrics: async () => await service?.metricsJson(),
  }
  process.on('message', async (message: ToWorker) => {
    if (message.kind === 'listen') assignedPort.resolve(message.port)
    if (message.kind === 'reload') service?.reload()
    if (message.kind === 'stop') stopped.resolve(undefined)
    if (message.kind === 'ask') {
      const report = await reports[message.about]()
      if (report) send({ kind: 'report', question: message.question, report })
    }
  })
  const work = withDatabase(async database => {
    const log = createLog({ worker: number })
    send({ kind: 'prepared' })
    const port = await Promise.race([assignedPort.promise, stopped.promise])
    if (port === undefined) return
    service = await Service.open(database, log)
    service.listen({ host: setting('HOST'), port, isShared: true })
    log.info({ pid: process.pid, disclosures: service.disclosures }, 'worker listening')
    send({ kind: 'listening' })
    await stopped.promise
    await service.end()
  })
  await Promise.race([work, abandoned.promise])
}

/** Longer than the checks of a worker take, and shorter than Prometheus waits. */
const REPORT_TIMEOUT_MS = 5000

/** A worker as its supervisor sees it. */
export class WorkerProcess {
  readonly prepared: Promise<void>
  readonly listening: Promise<void>
  /** How it ended, as "exit code 1" or "SIGKILL", and the line that it failed with, if any. */
  readonly ended: Promise<{ how: string; complaint: string | undefined }>
  private readonly child: Bun.Subprocess<'ignore', 'inherit', 'pipe'>
  private readonly answers = new Map<number, (report: unknown) => void>()
  private questions = 0
  private hasListened = false

  /** Starts this program again. The worker writes its log to the standard output that it inherits. */
  constructor(number: number) {
    const prepared = Promise.withResolvers<void>()
    const listening = Promise.withResolvers<void>()
    this.prepared = prepared.promise
    this.listening = listening.promise
    this.child = Bun.spawn([...thisProgram(), 'serve', '--worker', String(number)], {
      stdin: 'ignore',
      stdout: 'inherit',
      stderr: 'pipe',
      ipc: (message: FromWorker) => {
        if (message.kind === 'prepared') prepared.resolve()
        if (message.kind === 'report') this.answers.get(message.question)?.(message.report)
        if (message.kind === 'listening') {
          this.hasListened = true
          listening.resolve()
        }
      },
    })
    this.ended = this.end()
  }

  private async end() {
    const output = new Response(this.child.stderr).text()
    await this.child.exited
    for (const answer of this.answers.values()) answer(undefined)
    const complaints = await output
    const { signalCode, exitCode } = this.child
    const [, complaint] = /^axport: (.*)$/m.exec(complaints) ?? []
    // Without a line of its own, the output comes from Bun.
    if (complaint === undefined) process.stderr.write(complaints)
    return { how: signalCode ? String(signalCode) : `exit code ${exitCode}`, complaint }
  }

  get pid(): number {
    return this.child.pid
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null
  }

  get isListening(): boolean {
    return this.hasListened && this.isRunning
  }

  tell(message: ToWorker): void {
    if (!this.isRunning) return
    try {
      this.child.send(message)
    } catch {
      // The worker ended, and Bun has not noticed yet.
    }
  }

  /** @returns undefined if the worker does not answer in time, or ended */
  async ask<About extends keyof Reports>(about: About): Promise<Reports[About] | undefined> {
    if (!this.isRunning) return undefined
    const question = ++this.questions
    const { promise, resolve } = Promise.withResolvers<unknown>()
    this.answers.set(question, resolve)
    this.tell({ kind: 'ask', question, about })
    const report = await within(REPORT_TIMEOUT_MS, promise, undefined)
    this.answers.delete(question)
    return report as Reports[About] | undefined
  }

  kill(): void {
    this.child.kill('SIGKILL')
  }
}
