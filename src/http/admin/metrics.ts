import { monitorEventLoopDelay } from 'node:perf_hooks'
import {
  AggregatorRegistry,
  Counter,
  Gauge,
  Histogram,
  type MetricObjectWithValues,
  type MetricValue,
  Registry,
} from 'prom-client'
import type { Counters } from '../../counters.ts'
import type { Replicas } from '../../postgres/standby/replicas.ts'
import type { Answered } from '../request-log.ts'
import { TOKEN } from '../token-endpoint.ts'
import { addReaderMetrics } from './readers.ts'

/** The metrics of a process as data, to be added up over processes. */
export type MetricsJson = MetricObjectWithValues<MetricValue<string>>[]

/** What runs here. */
export interface Build {
  version: string
  commit: string
}

/** The numbers that are read for each scrape. */
interface Sources {
  build: Build
  counters: Counters
  /** Requests that have arrived and are not answered yet. */
  inFlight(): number
  /** The version of the read model; undefined when the database does not answer. */
  exportVersion(): Promise<number | undefined>
  /** When an import last succeeded, in Unix seconds; undefined before the first, or without an answer. */
  lastImport(): Promise<number | undefined>
  /** The connections to the database. */
  pool(): { inUse: number; idle: number; waiting: number }
  /** Statements that the database refused because it is short of something. */
  shortages(): number
  /** The standbys that are read from. */
  replicas?: Replicas | undefined
}

/** Seconds: a page takes 1 to 5 ms, a search up to some hundred; a request of seconds is in trouble. */
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

/** The metrics that only grow, and still count when their process has ended. */
export function onlyCounts(metrics: MetricsJson): MetricsJson {
  // prom-client declares numbers and gives names.
  return metrics.filter(({ type }) => /^(counter|histogram)$/.test(String(type)))
}

type Read = () => number | undefined | Promise<number | undefined>

/** Adds metrics whose value is read for each scrape; a gauge is absent while `read` gives undefined. */
function readMetrics(registry: Registry) {
  return {
    counter: (name: string, help: string, read: () => number) =>
      new Counter({
        ...{ name, help, registers: [registry] },
        collect() {
          this.reset()
          this.inc(read())
        },
      }),
    gauge: (name: string, help: string, read: Read, aggregator: 'sum' | 'max' | 'min' = 'sum') =>
      new Gauge({
        ...{ name, help, registers: [registry], aggregator },
        async collect() {
          const value = await read()
          if (value === undefined) this.remove()
          else this.set(value)
        },
      }),
  }
}

function addSourceMetrics(sources: Sources, registry: Registry): void {
  const { counters, pool } = sources
  const add = readMetrics(registry)
  const count = (name: string, help: string, key: keyof Counters) =>
    add.counter(`axport_${name}_total`, help, () => counters[key])
  count(
    'database_errors',
    'Errors of the database that requests met, lost connections too.',
    'databaseErrors',
  )
  count('page_memory_hits', 'Pages whose count and place were remembered.', 'pageMemoryHits')
  count('page_memory_misses', 'Pages that had to be counted and looked for.', 'pageMemoryMisses')
  count('purged_tokens', 'Expired tokens that were deleted.', 'purgedTokens')
  count('purged_secrets', 'Secrets that were deleted after the end of their grace.', 'purgedSecrets')
  add.counter(
    'axport_database_shortages_total',
    'Statements refused because the database is short of disk or memory.',
    sources.shortages,
  )
  const now = (name: string, help: string, read: Read, aggregator?: 'max') =>
    add.gauge(`axport_${name}`, help, read, aggregator)
  now('requests_in_flight', 'Requests that have arrived and are not answered yet.', sources.inFlight)
  now('database_connections_in_use', 'Connections to the database that run a statement.', () => pool().inUse)
  now(
    'database_connections_idle',
    'Connections to the database that wait for a statement.',
    () => pool().idle,
  )
  now('database_waiting', 'Statements that wait for a connection.', () => pool().waiting)
  now(
    'export_version',
    'Version of the data, which every write advances. Absent without a database.',
    sources.exportVersion,
    'max',
  )
  now(
    'last_import_timestamp_seconds',
    'When an import last loaded all that it was given. Absent before the first.',
    sources.lastImport,
    'max',
  )
  if (sources.replicas) addReaderMetrics(sources.replicas, registry)
}

/** Milliseconds between two samples of the event loop. */
const RESOLUTION_MS = 20

/** What this process is and uses. Half of the library's own set describes another runtime's heap, and is empty here. */
export function addProcessMetrics(build: Build, registry: Registry): void {
  const registers = [registry]
  const add = readMetrics(registry)
  new Gauge({
    name: 'axport_build_info',
    help: 'What runs here; always 1.',
    labelNames: ['version', 'commit', 'bun'],
    aggregator: 'first',
    registers,
  }).set({ ...build, bun: Bun.version }, 1)
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delay.enable()
  new Gauge({
    name: 'axport_event_loop_lag_seconds',
    help: 'How late timers fired since the last look, by percentile; every request waits as long.',
    // A label of the name quantile would be a summary's.
    labelNames: ['percentile'],
    aggregator: 'max',
    registers,
    collect() {
      this.set({ percentile: '50' }, delay.percentile(50) / 1e9)
      this.set({ percentile: '99' }, delay.percentile(99) / 1e9)
      this.set({ percentile: '100' }, delay.max / 1e9)
      delay.reset()
    },
  })
  add.gauge('process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss())
  add.counter('process_cpu_seconds_total', 'User and system CPU time.', () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  })
  const started = Math.round(performance.timeOrigin / 1000)
  add.gauge('process_start_time_seconds', 'Start of the process, in Unix time.', () => started, 'min')
}
