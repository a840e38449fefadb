import { Counter, Gauge } from 'prom-client'
import { addedUp, type MetricsJson, onlyCounts } from '../http/admin/metrics.ts'
import { mergedReaders } from '../http/admin/readers.ts'
import { type CheckResult, isReady, type Readiness } from '../http/admin/readiness.ts'
import type { AdminView } from '../http/admin/server.ts'
import { shared } from '../within.ts'
import type { WorkerProcess } from './worker-process.ts'

/**
 * All workers as operators see them: one service. It is ready when some worker listens and all that listen
 * are ready, since any of them may get the next request. A worker that is being replaced is no fault: the
 * others get its share.
 */
export class Fleet implements AdminView {
  state: 'starting' | 'serving' | 'stopping' = 'starting'
  private readonly workers = new Map<number, WorkerProcess>()
  /** What each worker last told of itself. */
  private readonly latest = new Map<WorkerProcess, MetricsJson>()
  /** What the workers that were replaced had counted: a sum must not go back, which would read as a restart. */
  private departed: MetricsJson = []
  private replaced = 0

  /** Gives a place to a worker, that of the one before it where there was one. */
  async put(number: number, worker: WorkerProcess): Promise<void> {
    const before = this.workers.get(number)
    this.workers.set(number, worker)
    if (!before) return
    this.replaced++
    const told = this.latest.get(before)
    this.latest.delete(before)
    if (told) this.departed = await addedUp([this.departed, onlyCounts(told)]).getMetricsAsJSON()
  }

  isStopping(): boolean {
    return this.state === 'stopping'
  }

  all(): WorkerProcess[] {
    return [...this.workers.values()]
  }

  readonly readiness = shared(async (): Promise<Readiness> => {
    const listening = [...this.workers].filter(([, worker]) => worker.isListening())
    const reports = await Promise.all(listening.map(([, worker]) => worker.ask('readiness')))
    const silent = listening.flatMap(([number], index) => (reports[index] ? [] : [number]))
    const workers =
      listening.length === 0
        ? `none of ${this.workers.size} listens`
        : silent.length > 0
          ? `no answer from worker ${silent.join(', ')}`
          : undefined
    const checks = [
      result('service', this.state === 'serving' ? undefined : `it is ${this.state}`),
      result('workers', workers),
      ...merged(reports.map(report => report?.checks ?? [])),
    ]
    const readers = mergedReaders(reports.map(report => report?.readers ?? []))
    return { ready: isReady(checks), checks, ...(readers.length > 0 && { readers }) }
  })

  readonly metrics = shared(async (): Promise<string> => {
    const listening = this.all().filter(worker => worker.isListening())
    await Promise.all(
      listening.map(async worker => {
        const told = await worker.ask('metrics')
        if (told && this.all().includes(worker)) this.latest.set(worker, told)
      }),
    )
    const registry = addedUp([this.departed, ...this.latest.values()])
    const registers = [registry]
    new Gauge({
      name: 'axport_workers_listening',
      help: 'Workers that share the port at present.',
      registers,
    }).set(listening.length)
    new Counter({
      name: 'axport_workers_replaced_total',
      help: 'Workers that ended and were replaced.',
      registers,
    }).inc(this.replaced)
    return await registry.metrics()
  })
}

/** The checks of all workers as one list: what is wrong for any of them is wrong. */
function merged(reports: CheckResult[][]): CheckResult[] {
  const all = reports.flat()
  // Whether the service is about to stop is the supervisor's to say.
  const names = new Set(all.map(({ check }) => check).filter(check => check !== 'service'))
  return [...names].map(check => {
    const results = all.filter(result => result.check === check)
    const details = new Set(results.flatMap(({ detail }) => detail ?? []))
    const isWarning = results.every(({ status }) => status !== 'wrong')
    if (details.size > 0) return result(check, [...details].join('; '), isWarning ? 'warning' : 'wrong')
    return results.some(({ status }) => status === 'skipped') ? { check, status: 'skipped' } : result(check)
  })
}

const result = (check: string, detail?: string, status: 'warning' | 'wrong' = 'wrong'): CheckResult =>
  detail === undefined ? { check, status: 'ok' } : { check, status, detail }
