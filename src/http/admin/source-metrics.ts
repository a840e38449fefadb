import { Counter, Gauge, type Registry } from 'prom-client'
import type { Counters } from '../../counters.ts'
import type { Replicas } from '../../postgres/standby/replicas.ts'
import { addReaderMetrics } from './readers.ts'

/** Where the numbers come from that are not seen in requests. */
export interface Sources {
  build: Build
  counters: Counters
  /** Requests that have arrived and are not answered yet. */
  inFlight(): number
  /** The version of the read model; undefined when the database does not say. */
  exportVersion(): Promise<number | undefined>
  /** When an import last succeeded, in Unix seconds; undefined before the first, or without an answer. */
  lastImport(): Promise<number | undefined>
  /** The connections to the database, where the pool tells of them. */
  pool?(): { inUse: number; idle: number; waiting: number }
  /** Statements that the database refused because it is short of something. */
  shortages(): number
  /** The standbys that are read from. */
  replicas?: Replicas | undefined
}

/** What runs here. */
export interface Build {
  version: string
  commit: string
}

type Connections = ReturnType<NonNullable<Sources['pool']>>
/** The name of a metric without "axport_", and its help. */
type Named = [name: string, help: string]

const COUNTERS: Record<keyof Counters, Named> = {
  databaseErrors: [
    'database_errors_total',
    'Errors of the database that requests met, lost connections too.',
  ],
  pageMemoryHits: ['page_memory_hits_total', 'Pages whose count and place were remembered.'],
  pageMemoryMisses: ['page_memory_misses_total', 'Pages that had to be counted and looked for.'],
  purgedTokens: ['purged_tokens_total', 'Expired tokens that were deleted.'],
  purgedSecrets: ['purged_secrets_total', 'Secrets that were deleted after the end of their grace.'],
}

const CONNECTIONS: Record<keyof Connections, Named> = {
  inUse: ['database_connections_in_use', 'Connections to the database that run a statement.'],
  idle: ['database_connections_idle', 'Connections to the database that wait for a statement.'],
  waiting: ['database_waiting', 'Statements that wait for a connection.'],
}

/** Metrics that are read from elsewhere at the moment when somebody looks. */
export function addSourceMetrics(sources: Sources, registry: Registry): void {
  const { counters, pool } = sources
  const of = ([name, help]: Named) => ({ name: `axport_${name}`, help, registers: [registry] })
  const counter = (named: Named, read: () => number) =>
    new Counter({
      ...of(named),
      collect() {
        this.reset()
        this.inc(read())
      },
    })
  const gauge = (named: Named, read: () => number) =>
    new Gauge({
      ...of(named),
      collect() {
        this.set(read())
      },
    })
  for (const key of Object.keys(COUNTERS) as (keyof Counters)[]) counter(COUNTERS[key], () => counters[key])
  counter(
    ['database_shortages_total', 'Statements refused because the database is short of disk or memory.'],
    sources.shortages,
  )
  gauge(['requests_in_flight', 'Requests that have arrived and are not answered yet.'], sources.inFlight)
  for (const key of pool ? (Object.keys(CONNECTIONS) as (keyof Connections)[]) : [])
    gauge(CONNECTIONS[key], () => pool?.()[key] ?? 0)
  const newest = (named: Named, read: () => Promise<number | undefined>) =>
    new Gauge({
      ...of(named),
      aggregator: 'max',
      async collect() {
        const value = await read()
        if (value === undefined) this.remove()
        else this.set(value)
      },
    })
  newest(
    ['export_version', 'Version of the data, which every write advances. Absent without a database.'],
    sources.exportVersion,
  )
  newest(
    [
      'last_import_timestamp_seconds',
      'When an import last loaded all that it was given. Absent before the first.',
    ],
    sources.lastImport,
  )
  if (sources.replicas) addReaderMetrics(sources.replicas, registry)
}
