import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { setting } from '../config.ts'
import { Interrupted, UsageFailure } from '../errors.ts'
import type { ServiceNumbers } from '../http/admin/page.ts'
import type { Readiness } from '../http/admin/readiness.ts'
import { within } from '../within.ts'
import { thisProgram } from './process.ts'
import { startService } from './service.ts'
import { createLog } from './serving.ts'
import { withDatabase } from './with-database.ts'

/** The reports that a supervisor requests from a worker. */
interface Reports {
  /** An answer that needs nothing but the event loop of the worker. */
  presence: true
  readiness: Readiness
  numbers: ServiceNumbers
}

/** Over Bun's IPC channel: the database is open; the port is listened on; a requested report. */
type FromWorker =
  | { kind: 'prepared' | 'listening' }
  | { kind: 'report'; about: keyof Reports; report: Reports[keyof Reports] }

/** Listen on this port; send a report; read the certificate again, or finish the requests in flight and end. */
type ToWorker =
  | { kind: 'listen'; port: number }
  | { kind: 'request'; about: keyof Reports }
  | { kind: 'reload' | 'stop' }

/** Serves DATABASE_URL as a worker until its supervisor stops it or ends. @throws UsageFailure without a supervisor */
export async function serveAsWorker(number: number): Promise<void> {
  if (!process.send)
    throw new UsageFailure('serve --worker is for the processes of serve --workers: did you mean --workers?')
  const send = (message: FromWorker) => void process.send?.(message)
  // Ctrl-C and service managers signal every process of the group; only the supervisor ends a worker.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  const abandoned = Promise.withResolvers<never>()
  process.on('disconnect', () => abandoned.reject(new Interrupted('')))
  const assignedPort = Promise.withResolvers<number>()
  const stopped = Promise.withResolvers<undefined>()
  let service: Awaited<ReturnType<typeof startService>> | undefined
  const reports = {
    presence: async (): Promise<true> => true,
    readiness: async () => await service?.readiness(),
    numbers: async () => await service?.numbers(),
  }
  process.on('message', async (message: ToWorker) => {
    if (message.kind === 'listen') assignedPort.resolve(message.port)
    if (message.kind === 'reload') service?.reload()
    if (message.kind === 'stop') stopped.resolve(undefined)
    if (message.kind === 'request') {
      const report = await reports[message.about]()
      if (report) send({ kind: 'report', about: message.about, report })
    }
  })
  const work = withDatabase(async database => {
    const log = createLog({ worker: number })
    send({ kind: 'prepared' })
    const port = await Promise.race([assignedPort.promise, stopped.promise])
    if (port === undefined) return
    service = await startService(database, log, { host: setting('HOST'), port, isShared: true })
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
  readonly prepared = Promise.withResolvers<void>()
  readonly listening = Promise.withResolvers<void>()
  /** How it ended, as "exit code 1" or "SIGKILL", and the line that it failed with, if any. */
  readonly ended: Promise<{ how: string; complaint: string | undefined }>
  /** As of its last report. */
  numbers: ServiceNumbers = { metrics: [], minutes: [] }
  failedProbes = 0
  readonly child: Bun.Subprocess<'ignore', 'inherit', 'pipe'>
  private readonly answers = new Map<keyof Reports, (report: unknown) => void>()

  /** Starts this program again. The worker writes its log to the standard output that it inherits. */
  constructor(number: number) {
    this.child = Bun.spawn([...thisProgram(), 'serve', '--worker', String(number)], {
      stdin: 'ignore',
      stdout: 'inherit',
      stderr: 'pipe',
      ipc: (message: FromWorker) => {
        if (message.kind === 'report') this.answers.get(message.about)?.(message.report)
        else this[message.kind].resolve()
      },
    })
    this.ended = this.end()
  }

  private async end() {
    const complaint = passOn(this.child.stderr)
    await this.child.exited
    for (const answer of this.answers.values()) answer(undefined)
    const { signalCode, exitCode } = this.child
    return { how: signalCode ? String(signalCode) : `exit code ${exitCode}`, complaint: await complaint }
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null
  }

  get isListening(): boolean {
    return this.isRunning && Bun.peek.status(this.listening.promise) === 'fulfilled'
  }

  send(message: ToWorker): void {
    if (!this.isRunning) return
    try {
      this.child.send(message)
    } catch {
      // The worker ended, and Bun has not noticed yet.
    }
  }

  /** Requests one report of a kind at a time. @returns undefined if the worker does not answer in time, or ended */
  async request<About extends keyof Reports>(about: About): Promise<Reports[About] | undefined> {
    if (!this.isRunning) return undefined
    const { promise, resolve } = Promise.withResolvers<unknown>()
    this.answers.set(about, resolve)
    this.send({ kind: 'request', about })
    return (await within(REPORT_TIMEOUT_MS, promise, undefined)) as Reports[About] | undefined
  }
}

/**
 * Writes the lines of a worker's standard error to that of this process, as they come. The line that it fails with is
 * for the supervisor to report.
 * @returns that line, if there was one
 */
async function passOn(output: ReadableStream<Uint8Array>): Promise<string | undefined> {
  let complaint: string | undefined
  for await (const line of createInterface({ input: Readable.fromWeb(output) })) {
    const [, own] = /^axport: (.*)$/.exec(line) ?? []
    if (own === undefined) process.stderr.write(`${line}\n`)
    else complaint = own
  }
  return complaint
}
