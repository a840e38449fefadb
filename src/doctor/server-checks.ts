import type { Sql } from 'postgres'
import { describeDisclosing, readDisclosing } from '../postgres/disclosing.ts'
import { type Finding, ok, skipped, unreadable, warning, wrong } from './finding.ts'
import { TRIGRAM_REPAIR } from './schema-check.ts'

/** The largest difference of the clocks. Tokens expire by the database's clock; logs have the host's. */
const CLOCK_TOLERANCE_MS = 2000

/** Version, encoding, extension and clock of the server. */
export async function checkServer(db: Sql): Promise<Finding[]> {
  const sentAt = Date.now()
  const [server] = await db<
    {
      version: string
      number: number
      encoding: string
      trigram: string | null
      isMigrated: boolean
      nowMs: number
    }[]
  >`
    select
      current_setting('server_version') as version,
      current_setting('server_version_num')::integer as number,
      current_setting('server_encoding') as encoding,
      (select extversion from pg_extension where extname = 'pg_trgm') as trigram,
      to_regclass('export_records') is not null as "isMigrated",
      1000 * extract(epoch from clock_timestamp())::double precision as "nowMs"`
  const answeredAt = Date.now()
  if (!server) throw new Error('the server did not answer')
  const { version, number, encoding, trigram, isMigrated, nowMs } = server
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
    clockFinding(nowMs - (sentAt + answeredAt) / 2, (answeredAt - sentAt) / 2),
  ]
}

/** The measured difference is only known to half a round trip, which is `uncertaintyMs`. */
function clockFinding(differenceMs: number, uncertaintyMs: number): Finding {
  const ms = Math.max(0, Math.abs(differenceMs) - uncertaintyMs)
  const text = `host and database differ by ${ms < 100 ? 'less than 0.1' : (ms / 1000).toFixed(1)} s`
  return ms > CLOCK_TOLERANCE_MS ? warning('clock', `${text}: synchronize both`) : ok('clock', text)
}

/** Runs a check that reads one table; skips it for a role that cannot read that table. */
async function ifReadable(
  db: Sql,
  check: string,
  table: string,
  run: () => Promise<Finding>,
): Promise<Finding> {
  const isUnreadable = (await unreadable(db, table)).length > 0
  return isUnreadable ? skipped(check, `this role cannot read ${table}: see its privileges`) : await run()
}

/** The time zone that decides on which day an instant falls. */
export function checkTimeZone(db: Sql): Promise<Finding> {
  return ifReadable(db, 'time zone', 'export_state', async () => {
    const [state] = await db<{ time_zone: string }[]>`select time_zone from export_state`
    return state
      ? ok('time zone', state.time_zone)
      : wrong('time zone', 'export_state is empty: its one row was deleted')
  })
}

/** Whether disclosures are recorded. */
export function checkDisclosures(db: Sql): Promise<Finding> {
  return ifReadable(db, 'disclosures', 'disclosure_state', async () => {
    const state = await readDisclosing(db)
    return state
      ? ok('disclosures', describeDisclosing(state))
      : wrong(
          'disclosures',
          'disclosure_state is empty, and nothing is recorded: insert into disclosure_state default values; axport migrate --disclosures on',
        )
  })
}

/** The time of the last import. Other programs that write the source tables leave no such time. */
export function checkLastImport(db: Sql): Promise<Finding> {
  return ifReadable(db, 'last import', 'export_state', async () => {
    const [state] = await db<{ at: string | null; ago: string }[]>`
      select to_char(last_import_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as at,
        date_trunc('minute', now() - last_import_at)::text as ago
      from export_state`
    return ok('last import', state?.at ? `${state.at}, ${state.ago} ago` : 'none yet by axport import')
  })
}

/** Index-only scans need the visibility map that VACUUM makes; the planner needs the statistics of ANALYZE. */
export function checkStatistics(db: Sql): Promise<Finding> {
  return ifReadable(db, 'statistics', 'export_records', async () => {
    const [table] = await db<{ isEmpty: boolean; isAnalyzed: boolean; visible: number }[]>`
      select not exists (select from export_records) as "isEmpty", reltuples >= 0 as "isAnalyzed",
        round(100 * least(1, relallvisible::double precision / greatest(relpages, 1)))::integer as visible
      from pg_class where oid = 'export_records'::regclass`
    if (!table) return skipped('statistics', 'export_records is not in the catalog')
    if (table.isEmpty) return ok('statistics', 'nothing to count yet')
    if (!table.isAnalyzed)
      return warning('statistics', 'export_records was never analyzed: vacuum (analyze) export_records')
    return table.visible < 80
      ? warning(
          'statistics',
          `only ${table.visible} % of export_records is marked visible, pages are slower: vacuum (analyze) export_records`,
        )
      : ok('statistics', `analyzed, ${table.visible} % marked visible`)
  })
}
