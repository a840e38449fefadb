import {
  AggregatorRegistry,
  Counter,
  Histogram,
  type MetricObjectWithValues,
  type MetricValue,
  Registry,
} from 'prom-client'
import type { Answered } from '../request-log.ts'
import { TOKEN } from '../token-endpoint.ts'
import { addProcessMetrics } from './process-metrics.ts'
import { addSourceMetrics, type Sources } from './source-metrics.ts'

/** The metrics of a process as data, to be added up over processes. */
export type MetricsJson = MetricObjectWithValues<MetricValue<string>>[]

/** Seconds: a page takes 1 to 5 ms, a search up to some hundred, and what takes seconds is in trouble. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** The metrics of this process. Labels are routes and statuses: nothing of a request itself, and few. */
export class Metrics {
  private readonly registry = new Registry()
  private readonly registers = [this.registry]
  private readonly requests = new Counter({
    name: 'axport_requests_total',
    help: 'Requests answered, by route and status.',
    labelNames: ['route', 'status'],
    registers: this.registers,
  })
  private readonly seconds = new Histogram({
    name: 'axport_request_seconds',
    help: 'Seconds from the arrival of a request to its answer.',
    labelNames: ['route'],
    buckets: BUCKETS,
    registers: this.registers,
  })
  private readonly records = this.total('records_sent', 'Records of the export that were sent.')
  private readonly bytes = this.total('bytes_sent', 'Bytes of bodies as they were sent.')
  private readonly tokens = this.total(
    'tokens',
    'Tokens issued, and requests for one that were refused for a wrong client id or secret.',
    ['outcome'],
  )

  constructor(sources: Sources) {
    for (const outcome of ['issued', 'refused']) this.tokens.inc({ outcome }, 0)
    addSourceMetrics(sources, this.registry)
    addProcessMetrics(sources.build, this.registry)
  }

  private total(name: string, help: string, labelNames: string[] = []): Counter {
    return new Counter({ name: `axport_${name}_total`, help, labelNames, registers: this.registers })
  }

  observe({ route = 'other', status, ms, records = 0, bytes }: Answered): void {
    this.requests.inc({ route, status })
    this.seconds.observe({ route }, ms / 1000)
    this.records.inc(records)
    this.bytes.inc(bytes)
    if (route === TOKEN && status === 200) this.tokens.inc({ outcome: 'issued' })
    if (route === TOKEN && status === 401) this.tokens.inc({ outcome: 'refused' })
  }

  /** In the form that Prometheus reads. */
  async text(): Promise<string> {
    return await this.registry.metrics()
  }

  async json(): Promise<MetricsJson> {
    return await this.registry.getMetricsAsJSON()
  }
}

/** The metrics of several processes as those of one: counts and bytes added up, lags the longest. */
export function addedUp(processes: MetricsJson[]): Registry {
  return AggregatorRegistry.aggregate(processes)
}

/** Of the metrics of a process those that only grow, and still count when it has ended. */
export function onlyCounts(metrics: MetricsJson): MetricsJson {
  // The type says numbers, the library gives names.
  return metrics.filter(({ type }) => /^(counter|histogram)$/.test(String(type)))
}
