import type { Sql } from 'postgres'
import { iso, onlyRow } from '../postgres/statement.ts'
import { describeDisclosing, readDisclosing } from '../tables/disclosing.ts'
import { type Finding, ok, tableCheck, warning, wrong } from './finding.ts'

/** The largest difference of the clocks. Tokens expire by the database's clock; logs have the host's. */
const CLOCK_TOLERANCE_MS = 2000

/** Version, encoding, extension and clock of the server. */
export async function checkServer(db: Sql): Promise<Finding[]> {
  const sentAt = Date.now()
  const rows = await db<
    { version: string; number: number; encoding: string; trigram: string | null; nowMs: number }[]
  >`
    select
      current_setting('server_version') as version,
      current_setting('server_version_num')::integer as number,
      current_setting('server_encoding') as encoding,
      (select extversion from pg_extension where extname = 'pg_trgm') as trigram,
      1000 * extract(epoch from clock_timestamp())::double precision as "nowMs"`
  const answeredAt = Date.now()
  const { version, number, encoding, trigram, nowMs } = onlyRow(rows)
  // The difference of the clocks is known to half a round trip.
  const differenceMs = Math.abs(nowMs - (sentAt + answeredAt) / 2) - (answeredAt - sentAt) / 2
  const seconds = differenceMs < 100 ? 'less than 0.1' : (differenceMs / 1000).toFixed(1)
  const clock = `host and database differ by ${seconds} s`
  return [
    number >= 150_000
      ? ok('version', `Postgres ${version}`)
      : wrong('version', `Postgres ${version}: axport needs 15 or newer`),
    encoding === 'UTF8'
      ? ok('encoding', encoding)
      : wrong('encoding', `${encoding}: axport needs a database with encoding UTF8`),
    trigram
      ? ok('extensions', `pg_trgm ${trigram}`)
      : wrong('extensions', 'pg_trgm is missing: create extension pg_trgm'),
    differenceMs > CLOCK_TOLERANCE_MS ? warning('clock', `${clock}: synchronize both`) : ok('clock', clock),
  ]
}

/** The time zone that decides on which day an instant falls. */
export const checkTimeZone = tableCheck('time zone', 'export_state', async db => {
  const [state] = await db<{ time_zone: string }[]>`select time_zone from export_state`
  return state ? ['ok', state.time_zone] : ['wrong', 'export_state is empty: its one row was deleted']
})

/** Whether disclosures are recorded. */
export const checkDisclosures = tableCheck('disclosures', 'disclosure_state', async db => {
  const state = await readDisclosing(db)
  const remedy = 'insert into disclosure_state default values; axport migrate --disclosures on'
  return state
    ? ['ok', describeDisclosing(state)]
    : ['wrong', `disclosure_state is empty, and no record is sent: ${remedy}`]
})

/** The time of the last import. Other programs that write the source tables leave no such time. */
export const checkLastImport = tableCheck('last import', 'export_state', async db => {
  const [state] = await db<{ at: string | null; ago: string }[]>`
    select ${iso(db, db`last_import_at`)} as at,
      date_trunc('minute', now() - last_import_at)::text as ago
    from export_state`
  return ['ok', state?.at ? `${state.at}, ${state.ago} ago` : 'none yet by axport import']
})

/** Index-only scans need the visibility map that VACUUM makes; the planner needs the statistics of ANALYZE. */
export const checkStatistics = tableCheck('statistics', 'export_records', async db => {
  const rows = await db<{ isEmpty: boolean; isAnalyzed: boolean; visible: number }[]>`
    select not exists (select from export_records) as "isEmpty", reltuples >= 0 as "isAnalyzed",
      round(100 * least(1, relallvisible::double precision / greatest(relpages, 1)))::integer as visible
    from pg_class where oid = 'export_records'::regclass`
  const { isEmpty, isAnalyzed, visible } = onlyRow(rows)
  const remedy = 'vacuum (analyze) export_records'
  if (isEmpty) return ['ok', 'nothing to count yet']
  if (!isAnalyzed) return ['warning', `export_records was never analyzed: ${remedy}`]
  return visible < 80
    ? ['warning', `only ${visible} % of export_records is marked visible, pages are slower: ${remedy}`]
    : ['ok', `analyzed, ${visible} % marked visible`]
})
