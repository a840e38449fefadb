import { sql } from 'drizzle-orm'
import { Gauge, type Registry } from 'prom-client'
import type { ServingDatabase } from '../database/pool.ts'
import { statement } from '../database/statement.ts'
import { singleFlight } from '../single-flight.ts'
import { within } from '../timeouts.ts'
import { addRead } from './read-metric.ts'
import { unlessBusy } from './readiness.ts'

/** Numbers that take longer are absent from the metrics. */
const DATA_TIMEOUT_MS = 1000

type Data = Record<'version' | 'imported' | 'secret' | 'disclosures' | 'schema', string | null>
type Feed = { feed: string } & Record<'position' | 'succeeded' | 'compared' | 'leftOut', string | null>

const DATA: Record<Exclude<keyof Data, 'schema'>, [name: string, help: string]> = {
  version: ['export_version_timestamp_seconds', 'When a list last changed. Absent without a database.'],
  imported: [
    'last_import_timestamp_seconds',
    'When an import was last committed, also one that left out bad lines. Absent before the first.',
  ],
  secret: [
    'oldest_secret_timestamp_seconds',
    'When the oldest secret of an enabled integration was made, without those that are to end.',
  ],
  disclosures: ['disclosures_on', '1 if disclosures are recorded, or 0.'],
}

const FEEDS: Record<Exclude<keyof Feed, 'feed'>, [name: string, help: string]> = {
  position: [
    'position_timestamp_seconds',
    "When the snapshot of the last round that left nothing out began, by the platform's clock. Absent before it.",
  ],
  succeeded: ['last_success_timestamp_seconds', 'When a round was last loaded. Absent before the first.'],
  compared: [
    'last_comparison_timestamp_seconds',
    'When all rows were last compared (import --sync). Absent before the first.',
  ],
  leftOut: [
    'left_out_rows',
    'Rows that the last round left out by --rejects; the next one reads them again.',
  ],
}

/** Adds what the database knows of its schema, of the data, of secrets and feeds, whether their processes run or not. */
export function addDataMetrics(pool: ServingDatabase, registry: Registry): void {
  // One read for all metrics of a scrape, also while it takes the only connection.
  const readAll = singleFlight(
    unlessBusy(pool, async () => {
      const [data] = await selectData(pool, {})
      return { data, feeds: await selectFeeds(pool, {}) }
    }),
  )
  const read = () => within(DATA_TIMEOUT_MS, readAll(), undefined).catch(() => undefined)
  new Gauge({
    name: 'axport_schema_info',
    help: 'The newest migration of the database; always 1. Absent without a database.',
    labelNames: ['migration'],
    registers: [registry],
    async collect() {
      const schema = (await read())?.data?.schema
      this.reset()
      if (schema != null) this.set({ migration: schema }, 1)
    },
  })
  for (const [field, [name, help]] of Object.entries(DATA)) {
    const readOne = async () => {
      const value = (await read())?.data?.[field as keyof Data]
      return value == null ? undefined : Number(value)
    }
    addRead(registry, `axport_${name}`, help, readOne)
  }
  for (const [field, [name, help]] of Object.entries(FEEDS))
    new Gauge({
      name: `axport_feed_${name}`,
      help,
      labelNames: ['feed'],
      registers: [registry],
      async collect() {
        const feeds = (await read())?.feeds ?? []
        this.reset()
        for (const { feed, ...state } of feeds) {
          const value = state[field as keyof typeof FEEDS]
          if (value !== null) this.set({ feed }, Number(value))
        }
      },
    })
}

const selectData = statement<Record<string, never>, Data>(
  sql`select
    (select extract(epoch from made_at)::text from export_version) as version,
    (select extract(epoch from last_import_at)::text from export_state) as imported,
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
