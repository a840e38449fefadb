import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Answered } from '../app/exchange.ts'
import type { Certificate } from '../app/tls.ts'
import { TOKEN } from '../app/token.ts'
import type { Standby } from '../assessments/standby.ts'
import type { Counters } from '../counters.ts'
import type { ServingDatabase } from '../database/pool.ts'
import { addDataMetrics } from './data-metrics.ts'
import { addRead, type Read } from './read-metric.ts'

export interface Build {
  version: string
  commit: string
}

/** What is read for each scrape. */
interface Sources {
  build: Build
  counters: Counters
  inFlight(): number
  database: ServingDatabase
  standby: Standby | undefined
  certificate: Certificate | undefined
}

/** The metrics of this process. Labels are routes, statuses and client ids: nothing of a request itself, and few. */
export class Metrics {
  readonly registry = new Registry()
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
    // A page takes 1 to 5 ms, a search up to some hundred; a request of seconds is in trouble.
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: this.registers,
  })
  private readonly records = this.total('records_sent', 'Records of the export that were sent.')
  private readonly bytes = this.total('bytes_sent', 'Bytes of bodies as they were sent.')
  private readonly tokens = this.total('tokens', 'Tokens issued, or refused as invalid_client.', ['outcome'])

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
}

function addSourceMetrics(
  { counters, inFlight, database, standby, certificate }: Sources,
  registry: Registry,
): void {
  const add = (name: string, help: string, read: Read) => addRead(registry, `axport_${name}`, help, read)
  const count = (name: keyof Counters) => () => counters[name]
  add('database_errors_total', 'Database errors in requests, lost connections too.', count('databaseErrors'))
  add('page_memory_hits_total', 'Lists that were remembered when a page was read.', count('pageMemoryHits'))
  add('page_memory_misses_total', 'Lists that were counted.', count('pageMemoryMisses'))
  add('purged_tokens_total', 'Expired tokens that were deleted.', count('purgedTokens'))
  add('database_shortages_total', 'Statements refused: no disk or memory.', () => database.writes.shortages)
  add('requests_in_flight', 'Requests that have arrived and are in work.', inFlight)
  add('refusals_delayed_total', 'Refusals sent after a second: there were many.', count('delayedRefusals'))

  add('database_connections_max', 'Connections that the pool may open.', () => database.bounds.size)
  add('database_connections_in_use', 'Connections that run a statement.', () => database.stats().inUse)
  add('database_connections_idle', 'Connections that wait for a statement.', () => database.stats().idle)
  add('database_waiting', 'Statements that wait for a connection.', () => database.stats().waiting)
  add(
    'standby_used',
    'Whether pages are read from DATABASE_READ_URL: 1, or 0 while it is passed over.',
    () => (standby === undefined ? undefined : Number(standby.isUsed)),
  )
  add(
    'certificate_expiry_timestamp_seconds',
    'When the certificate of the port ends. Absent without one.',
    () => certificate?.expires,
  )
  addDataMetrics(database, registry)
}

/** What this process is and uses. Half of the library's own set describes another runtime's heap, and is empty here. */
function addProcessMetrics(build: Build, registry: Registry): void {
  const registers = [registry]
  new Gauge({
    name: 'axport_build_info',
    help: 'What runs here; always 1.',
    labelNames: ['version', 'commit', 'bun'],
    registers,
  }).set({ ...build, bun: Bun.version }, 1)
  const delay = monitorEventLoopDelay({ resolution: 20 })
  delay.enable()
  new Gauge({
    name: 'axport_event_loop_lag_seconds',
    help: 'How late timers fired since the last look, by percentile; every request waits as long.',
    // A label of the name quantile would be a summary's.
    labelNames: ['percentile'],
    registers,
    collect() {
      this.set({ percentile: '50' }, delay.percentile(50) / 1e9)
      this.set({ percentile: '99' }, delay.percentile(99) / 1e9)
      this.set({ percentile: '100' }, delay.max / 1e9)
      delay.reset()
    },
  })
  addRead(registry, 'process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss())
  addRead(registry, 'process_cpu_seconds_total', 'User and system CPU time.', () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  })
  const started = Math.round(performance.timeOrigin / 1000)
  addRead(registry, 'process_start_time_seconds', 'Start of the process, in Unix time.', () => started)
}
