import { sql } from 'drizzle-orm'
import type { Registry } from 'prom-client'
import type { ServingDatabase } from '../database/pool.ts'
import { type Runner, statement } from '../database/statement.ts'
import { singleFlight } from '../single-flight.ts'
import { within } from '../timeouts.ts'
import { addRead, addReadEach } from './read-metric.ts'
import { unlessBusy } from './readiness.ts'

/** Numbers that take longer are absent from the metrics. */
const DATA_TIMEOUT_MS = 1000

/** The name of a metric, without axport_, and its help. */
type Described = [name: string, help: string]
/** Values as text; null for one that is not known. */
type Values<Field extends string> = Record<Field, string | null>

type Data = Values<'version' | 'imported' | 'backup' | 'secret' | 'disclosures' | 'schema'>
type Feed = { feed: string } & Values<'position' | 'succeeded' | 'compared' | 'leftOut'>
type Integration = { client_id: string } & Values<'used'>
type Table = { table: string } & Values<'removed' | 'remaining'>

const DATA: Record<Exclude<keyof Data, 'schema'>, Described> = {
  version: ['export_version_timestamp_seconds', 'When a list last changed. Absent without a database.'],
  imported: [
    'last_import_timestamp_seconds',
    'When an import was last committed, also one that left out bad lines. Absent before the first.',
  ],
  backup: ['last_backup_timestamp_seconds', 'When a backup last ended well. Absent before the first.'],
  secret: [
    'oldest_secret_timestamp_seconds',
    'When the oldest secret of an enabled integration was made, without those that are to end.',
  ],
  disclosures: ['disclosures_on', '1 if disclosures are recorded, or 0.'],
}

const FEEDS: Record<Exclude<keyof Feed, 'feed'>, Described> = {
  position: [
    'feed_position_timestamp_seconds',
    "When the snapshot of the last round that left nothing out began, by the platform's clock. Absent before it.",
  ],
  succeeded: [
    'feed_last_success_timestamp_seconds',
    'When a round was last loaded. Absent before the first.',
  ],
  compared: [
    'feed_last_comparison_timestamp_seconds',
    'When all rows of every type that the feed reads were last compared (import --sync). Absent before the first.',
  ],
  leftOut: [
    'feed_left_out_rows',
    'Rows that the last round left out by --rejects; the next one reads them again.',
  ],
}

const TABLES: Record<Exclude<keyof Table, 'table'>, Described> = {
  removed: ['removed_rows_total', 'Rows of a source table that loads removed, all of them together.'],
  remaining: [
    'remaining_rows',
    'Rows of a source table after the last load that removed some of them; 0 before the first.',
  ],
}

const INTEGRATIONS: Record<Exclude<keyof Integration, 'client_id'>, Described> = {
  used: [
    'integration_last_use_timestamp_seconds',
    'When an enabled integration last made a request, or before that when its secret was made. Of the 1,000 oldest.',
  ],
}

/** Adds what the database knows of its schema, of the data, of secrets, feeds and loads, whether these run or not. */
export function addDataMetrics(pool: ServingDatabase, registry: Registry): void {
  // One read for all metrics of a scrape, also while it takes the only connection.
  const readAll = singleFlight(unlessBusy(pool, () => selectAll(pool)))
  const read = () => within(DATA_TIMEOUT_MS, readAll(), undefined).catch(() => undefined)
  const schema = 'The newest migration of the database; always 1. Absent without a database.'
  addReadEach(registry, ['axport_schema_info', schema], 'migration', async () => {
    const newest = (await read())?.data?.schema
    return newest == null ? [] : [[newest, '1']]
  })
  for (const [field, [name, help]] of Object.entries(DATA)) {
    const readOne = async () => {
      const value = (await read())?.data?.[field as keyof Data]
      return value == null ? undefined : Number(value)
    }
    addRead(registry, `axport_${name}`, help, readOne)
  }
  const addRows = (
    label: string,
    metrics: Record<string, Described>,
    rowsOf: (all: Awaited<ReturnType<typeof selectAll>>) => Values<string>[],
  ) => {
    for (const [field, [name, help]] of Object.entries(metrics))
      addReadEach(registry, [`axport_${name}`, help], label, async () => {
        const all = await read()
        return all ? rowsOf(all).map(row => [row[label] ?? '', row[field] ?? null]) : []
      })
  }
  addRows('feed', FEEDS, ({ feeds }) => feeds)
  addRows('table', TABLES, ({ tables }) => tables)
  addRows('client_id', INTEGRATIONS, ({ integrations }) => integrations)
}

async function selectAll(db: Runner) {
  const [data] = await selectData(db, {})
  const feeds = await selectFeeds(db, {})
  const tables = await selectTables(db, {})
  return { data, feeds, tables, integrations: await selectIntegrations(db, {}) }
}

const selectData = statement<Record<string, never>, Data>(
  sql`select
    (select extract(epoch from made_at)::text from export_version) as version,
    (select extract(epoch from last_import_at)::text from export_state) as imported,
    (select extract(epoch from ended_at)::text from last_backup) as backup,
    (
      select extract(epoch from min(s.created_at))::text
      from integration_secrets s join integrations i on i.id = s.integration_id
      where s.expires_at is null and i.disabled_at is null
    ) as secret,
    (select is_on::integer::text from disclosure_state) as disclosures,
    (select max(name) from schema_migrations) as schema`,
  false,
)

const selectFeeds = statement<Record<string, never>, Feed>(
  sql`select name as feed, extract(epoch from nullif(snapshot_at, '-infinity'))::text as position, extract(epoch from succeeded_at)::text as succeeded,
    extract(epoch from compared_at)::text as compared, left_out::text as "leftOut" from feeds`,
  false,
)

const selectTables = statement<Record<string, never>, Table>(
  sql`select table_name as table, removed::text, remaining::text from removals`,
  false,
)

/** A secret that was replaced without a grace is deleted with its last use: then the time of the new one stands for it. */
const selectIntegrations = statement<Record<string, never>, Integration>(
  sql`select i.client_id, extract(epoch from coalesce(max(s.last_used_at), max(s.created_at)))::text as used
    from integrations i join integration_secrets s on s.integration_id = i.id
    where i.disabled_at is null group by i.id order by i.id limit 1000`,
  false,
)
