import { Counter, Gauge, type Registry } from 'prom-client'
import type { Counters } from '../../counters.ts'

/** Where the numbers come from that are not seen in requests. */
export interface Sources {
  build: Build
  counters: Counters
  /** Requests that have arrived and are not answered yet. */
  inFlight(): number
  /** The version of the read model; undefined when the database does not say. */
  exportVersion(): Promise<number | undefined>
  /** The connections to the database, where the pool tells of them. */
  pool?(): { inUse: number; idle: number; waiting: number }
}

/** What runs here. */
export interface Build {
  version: string
  commit: string
}

/** Metrics that are read from elsewhere at the moment when somebody looks. */
export function addSourceMetrics(sources: Sources, registry: Registry): void {
  const { counters, pool } = sources
  addCounter(registry, {
    name: 'axport_database_errors_total',
    help: 'Errors of the database that requests met, lost connections among them.',
    read: () => counters.databaseErrors,
  })
  addCounter(registry, {
    name: 'axport_page_memory_hits_total',
    help: 'Pages whose count and place were remembered.',
    read: () => counters.pageMemoryHits,
  })
  addCounter(registry, {
    name: 'axport_page_memory_misses_total',
    help: 'Pages that had to be counted and looked for.',
    read: () => counters.pageMemoryMisses,
  })
  addCounter(registry, {
    name: 'axport_purged_tokens_total',
    help: 'Expired tokens that were deleted.',
    read: () => counters.purgedTokens,
  })
  addCounter(registry, {
    name: 'axport_purged_secrets_total',
    help: 'Secrets that were deleted after the end of their grace.',
    read: () => counters.purgedSecrets,
  })
  addGauge(registry, {
    name: 'axport_requests_in_flight',
    help: 'Requests that have arrived and are not answered yet.',
    read: sources.inFlight,
  })
  if (pool) {
    addGauge(registry, {
      name: 'axport_database_connections_in_use',
      help: 'Connections to the database that run a statement.',
      read: () => pool().inUse,
    })
    addGauge(registry, {
      name: 'axport_database_connections_idle',
      help: 'Connections to the database that wait for a statement.',
      read: () => pool().idle,
    })
    addGauge(registry, {
      name: 'axport_database_waiting',
      help: 'Statements that wait for a connection.',
      read: () => pool().waiting,
    })
  }
  new Gauge({
    name: 'axport_export_version',
    help: 'Version of the data, which every write to it advances. Absent when the database does not answer.',
    aggregator: 'max',
    registers: [registry],
    async collect() {
      const version = await sources.exportVersion()
      if (version === undefined) this.remove()
      else this.set(version)
    },
  })
}

interface Reading {
  name: string
  help: string
  read(): number
}

function addCounter(registry: Registry, { name, help, read }: Reading): void {
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset()
      this.inc(read())
    },
  })
}

function addGauge(registry: Registry, { name, help, read }: Reading): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read())
    },
  })
}
