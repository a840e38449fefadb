import { AggregatorRegistry, type Registry } from 'prom-client'
import { setting } from '../config.ts'
import { Failure } from '../errors.ts'
import { freePort, urlOf } from '../http/address.ts'
import { type MetricsJson, onlyCounts } from '../http/admin/metrics.ts'
import { lastHour } from '../http/admin/minutes.ts'
import type { ServiceNumbers } from '../http/admin/page.ts'
import { addRead } from '../http/admin/read-metric.ts'
import { type CheckResult, isReady, type Readiness } from '../http/admin/readiness.ts'
import type { AdminView } from '../http/admin/server.ts'
import { mergedServers } from '../http/admin/servers.ts'
import { shared, within } from '../within.ts'
import { SHUTDOWN_MS } from './limits.ts'
import type { ServingProcess } from './serving.ts'
import { WorkerProcess } from './worker.ts'

/** A worker that lived for longer than the longest pause is replaced at once; otherwise pauses double. */
const SHORTEST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 10_000

/** What a worker needs to end beyond SHUTDOWN_DELAY and SHUTDOWN_MS, to close its database for example. */
const END_MARGIN_MS = 8000

/** Every worker is probed so often, and killed after so many probes in a row without an answer. */
const PROBE_INTERVAL_MS = 5000
const FAILED_PROBES = 3

/** Workers on one port. One that fails at the start ends the service; later it is replaced, because errors may pass. */
export class Supervisor implements AdminView {
  private state: 'starting' | 'serving' | 'stopping' = 'starting'
  private readonly workers: WorkerProcess[] = []
  /** The counts of replaced workers: without them a sum would fall, which reads as a restart. */
  private replacedMetrics: MetricsJson = []
  private replacements = 0

  constructor(private readonly serving: ServingProcess) {}

  /** @throws Failure if a worker cannot start, the port is in use, or a worker had to be killed at the end */
  async run(count: number): Promise<void> {
    const { log, signalled, address, admin } = this.serving
    const timeoutMs = setting('SHUTDOWN_DELAY') * 1000 + SHUTDOWN_MS + END_MARGIN_MS
    this.serving.service = this
    for (let number = 1; number <= count; number++) this.workers.push(new WorkerProcess(number))
    using probing = setInterval(() => {
      for (const worker of this.workers) void this.probe(worker)
    }, PROBE_INTERVAL_MS)
    const port = await this.startTogether()
    if (port !== undefined) {
      this.state = 'serving'
      const url = urlOf({ ...address, port }, setting('TLS_CERT_FILE') !== undefined)
      log.info({ url, admin: admin?.url, workers: count }, 'listening')
    }
    const kept = Promise.all(this.workers.map((_, index) => this.keep(index, port ?? 0))).then(() => true)
    log.info({ signal: await Promise.race([signalled, kept]) }, 'stopping')
    // A worker that is ending may not answer, and must not be killed for that.
    clearInterval(probing)
    this.state = 'stopping'
    for (const worker of this.workers) worker.send({ kind: 'stop' })
    if (await within(timeoutMs, kept, false)) return
    for (const worker of this.workers) worker.child.kill('SIGKILL')
    throw new Failure('a worker did not end in time and was killed')
  }

  /** Lets all listen once all are prepared, or a signal comes. The port is checked late: another process may take it. */
  private async startTogether(): Promise<number | undefined> {
    const { workers } = this
    const { signalled } = this.serving
    const failed = Promise.race(
      workers.map(async worker => {
        const { how, complaint } = await worker.ended
        // A signal to the process group ends workers that are still starting; this process gets the same signal.
        if (how === 'SIGINT' || how === 'SIGTERM') await within(1000, signalled, '')
        throw new Failure(complaint ?? `a worker ended while it started (${how})`)
      }),
    )
    const started = async () => {
      await Promise.all(workers.map(worker => worker.prepared.promise))
      const port = freePort(this.serving.address)
      for (const worker of workers) worker.send({ kind: 'listen', port })
      await Promise.all(workers.map(worker => worker.listening.promise))
      return port
    }
    try {
      return await Promise.race([started(), failed, signalled.then(() => undefined)])
    } catch (error) {
      for (const worker of workers) worker.child.kill('SIGKILL')
      await Promise.all(workers.map(worker => worker.ended))
      throw error
    }
  }

  /** Replaces worker `index` + 1 whenever it ends. Resolves when it ends after a signal. */
  private async keep(index: number, port: number): Promise<void> {
    const { log, signalled } = this.serving
    let startedAt = performance.now()
    for (let pause = 0; ; ) {
      const worker = this.workers[index] as WorkerProcess
      const { pid } = worker.child
      const { how, complaint } = await worker.ended
      if (this.state === 'stopping') {
        if (complaint !== undefined)
          log.error({ worker: index + 1, pid, how, complaint }, 'worker failed while it stopped')
        return
      }
      const isHealthy = performance.now() - startedAt > LONGEST_PAUSE_MS
      pause = isHealthy ? 0 : Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, 2 * pause))
      log.error({ worker: index + 1, pid, how, complaint, pause }, 'worker ended; replacing it')
      if ((await within(pause, signalled, undefined)) !== undefined) return
      startedAt = performance.now()
      try {
        const replacement = new WorkerProcess(index + 1)
        this.workers[index] = replacement
        void replacement.prepared.promise.then(() => replacement.send({ kind: 'listen', port }))
        this.replacements++
        const counts = [this.replacedMetrics, onlyCounts(worker.numbers.metrics)]
        this.replacedMetrics = await AggregatorRegistry.aggregate(counts).getMetricsAsJSON()
      } catch (error) {
        log.error({ worker: index + 1, code: (error as { code?: string }).code }, 'worker cannot be started')
      }
    }
  }

  reload(): void {
    for (const worker of this.workers) worker.send({ kind: 'reload' })
  }

  /** Kills a worker that hangs, because the system goes on to give it connections. It is then replaced. */
  private async probe(worker: WorkerProcess): Promise<void> {
    worker.failedProbes = (await worker.request('presence')) ? 0 : worker.failedProbes + 1
    if (worker.failedProbes < FAILED_PROBES || !worker.isRunning) return
    this.serving.log.error({ pid: worker.child.pid }, 'worker does not answer; ending it')
    worker.child.kill('SIGKILL')
  }

  /** Ready if all that listen are ready: any may get the next request. A worker that is being replaced does not count. */
  readonly readiness = shared(async (): Promise<Readiness> => {
    const listening = [...this.workers.entries()].filter(([, worker]) => worker.isListening)
    const reports = await Promise.all(listening.map(([, worker]) => worker.request('readiness')))
    const silent = listening.flatMap(([index], at) => (reports[at] ? [] : [index + 1]))
    const problem = silent.length > 0 ? `no answer from worker ${silent.join(', ')}` : undefined
    const checks = [
      result('service', this.state === 'serving' ? undefined : `it is ${this.state}`),
      result('workers', listening.length > 0 ? problem : `none of ${this.workers.length} listens`),
      ...mergedChecks(reports.flatMap(report => report?.checks ?? [])),
    ]
    const servers = mergedServers(reports.map(report => report?.servers ?? []))
    return { ready: isReady(checks), checks, ...(servers.length > 0 && { servers }) }
  })

  private readonly registry = shared(async (): Promise<Registry> => {
    const listening = this.workers.filter(worker => worker.isListening)
    await Promise.all(
      listening.map(async worker => {
        worker.numbers = (await worker.request('numbers')) ?? worker.numbers
      }),
    )
    const all = [this.replacedMetrics, ...this.workers.map(({ numbers }) => numbers.metrics)]
    const registry: Registry = AggregatorRegistry.aggregate(all)
    addRead(registry, 'axport_workers', 'Workers that serve keeps running.', () => this.workers.length)
    addRead(registry, 'axport_workers_listening', 'Workers that share the port.', () => listening.length)
    addRead(registry, 'axport_workers_replaced_total', 'Workers that were replaced.', () => this.replacements)
    return registry
  })

  async metrics(): Promise<string> {
    return await (await this.registry()).metrics()
  }

  /** The minutes of a worker that has ended are not known any more. */
  async numbers(): Promise<ServiceNumbers> {
    const metrics = await (await this.registry()).getMetricsAsJSON()
    return { metrics, minutes: lastHour(this.workers.map(({ numbers }) => numbers.minutes)) }
  }
}

const SEVERITIES = ['wrong', 'warning', 'skipped', 'ok'] as const

/** The checks of all workers as one list, in which a check has the worst status that a worker found. */
function mergedChecks(all: CheckResult[]): CheckResult[] {
  // The supervisor has a check "service" of its own.
  const others = all.filter(({ check }) => check !== 'service')
  return [...Map.groupBy(others, ({ check }) => check)].map(([check, results]) => {
    const details = new Set(results.flatMap(({ detail }) => detail ?? []))
    const worst = SEVERITIES.find(severity => results.some(({ status }) => status === severity)) ?? 'ok'
    return { check, status: worst, ...(details.size > 0 && { detail: [...details].join('; ') }) }
  })
}

const result = (check: string, problem?: string): CheckResult =>
  problem === undefined ? { check, status: 'ok' } : { check, status: 'wrong', detail: problem }
