import type { Sql } from 'postgres'
import { describeDisclosing, readDisclosing } from '../postgres/disclosing.ts'
import { type Finding, ok, skipped, warning, wrong } from './finding.ts'
import { unreadable } from './reading.ts'
import { TRIGRAM_REPAIR } from './schema-check.ts'

/** Seconds by which the clocks may differ. Tokens live by the database's clock alone; logs by the host's. */
const CLOCK_TOLERANCE = 2

/** The server as such: version, encoding, extension, clock. */
export async function checkServer(db: Sql): Promise<Finding[]> {
  const asked = Date.now()
  const [server] = await db<
    {
      version: string
      number: number
      encoding: string
      trigram: string | null
      isMigrated: boolean
      now: number
    }[]
  >`
    select
      current_setting('server_version') as version,
      current_setting('server_version_num')::integer as number,
      current_setting('server_encoding') as encoding,
      (select extversion from pg_extension where extname = 'pg_trgm') as trigram,
      to_regclass('export_records') is not null as "isMigrated",
      extract(epoch from clock_timestamp())::double precision as now`
  const answered = Date.now()
  if (!server) throw new Error('the server did not answer')
  const { version, number, encoding, trigram, isMigrated, now } = server
  return [
    number >= 150_000
      ? ok('version', `Postgres ${version}`)
      : wrong('version', `Postgres ${version}: axport needs 15 or newer`),
    encoding === 'UTF8'
      ? ok('encoding', encoding)
      : wrong('encoding', `${encoding}: axport needs a database with encoding UTF8`),
    trigram
      ? ok('extensions', `pg_trgm ${trigram}`)
      : wrong('extensions', `pg_trgm is missing: ${isMigrated ? TRIGRAM_REPAIR : 'run axport migrate'}`),
    clock(now * 1000 - (asked + answered) / 2, (answered - asked) / 2),
  ]
}

/** Both in milliseconds; within half a round trip there is no telling. */
function clock(difference: number, uncertainty: number): Finding {
  const seconds = Math.max(0, Math.abs(difference) - uncertainty) / 1000
  const text = `host and database differ by ${seconds < 0.1 ? 'less than 0.1' : seconds.toFixed(1)} s`
  return seconds > CLOCK_TOLERANCE ? warning('clock', `${text}: synchronize both`) : ok('clock', text)
}

/** The zone that decides on which day an instant falls. */
export async function checkTimeZone(db: Sql): Promise<Finding> {
  if ((await unreadable(db, 'export_state')).length > 0)
    return skipped('time zone', 'this role cannot read export_state: see its privileges')
  const [state] = await db<{ time_zone: string }[]>`select time_zone from export_state`
  return state
    ? ok('time zone', state.time_zone)
    : wrong('time zone', 'export_state is empty: its one row was deleted')
}

/** Whether answers are recorded before they are sent. */
export async function checkDisclosures(db: Sql): Promise<Finding> {
  if ((await unreadable(db, 'disclosure_state')).length > 0)
    return skipped('disclosures', 'this role cannot read disclosure_state: see its privileges')
  const state = await readDisclosing(db)
  return state
    ? ok('disclosures', describeDisclosing(state))
    : wrong(
        'disclosures',
        'disclosure_state is empty, and nothing is recorded: insert into disclosure_state default values; axport migrate --disclosures on',
      )
}

/** When the data was last brought up to date; of SQL of one's own nothing is known. */
export async function checkLastImport(db: Sql): Promise<Finding> {
  if ((await unreadable(db, 'export_state')).length > 0)
    return skipped('last import', 'this role cannot read export_state: see its privileges')
  const [state] = await db<{ at: string | null; ago: string }[]>`
    select to_char(last_import_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as at,
      date_trunc('minute', now() - last_import_at)::text as ago
    from export_state`
  return ok('last import', state?.at ? `${state.at}, ${state.ago} ago` : 'none yet by axport import')
}

/** Index-only scans need the visibility map of VACUUM, plans need the statistics of ANALYZE. */
export async function checkStatistics(db: Sql): Promise<Finding> {
  if ((await unreadable(db, 'export_records')).length > 0)
    return skipped('statistics', 'this role cannot read export_records: see its privileges')
  const [table] = await db<{ rows: number; visible: number }[]>`
    select reltuples::double precision as rows, relallvisible::double precision / greatest(relpages, 1) as visible
    from pg_class where oid = 'export_records'::regclass`
  if (!table) return skipped('statistics', 'export_records is not in the catalog')
  const [some] = await db`select from export_records limit 1`
  if (!some) return ok('statistics', 'nothing to count yet')
  if (table.rows < 0)
    return warning('statistics', 'export_records was never analyzed: vacuum (analyze) export_records')
  const share = Math.round(100 * Math.min(1, table.visible))
  return share < 80
    ? warning(
        'statistics',
        `only ${share} % of export_records is marked visible, pages are slower: vacuum (analyze) export_records`,
      )
    : ok('statistics', `analyzed, ${share} % marked visible`)
}
