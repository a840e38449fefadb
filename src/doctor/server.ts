import { sql } from 'drizzle-orm'
import { orm, rowsOf } from '../database/orm.ts'
import { onlyRow } from '../database/statement.ts'
import { type Db, type Outcome, ok, warning, wrong } from './finding.ts'

/** Which Postgres answers, whether through a pooler, and whether it takes writes. */
export async function whichServer(db: Db): Promise<Outcome> {
  const rows = await orm(db).execute<{
    version: string
    number: number
    place: string
    pid: number
    isStandby: boolean
    isReadOnly: boolean
  }>(sql`
    select current_setting('server_version') as version, current_setting('server_version_num')::integer as number,
      coalesce(host(inet_server_addr()) || ' port ' || inet_server_port(), 'a unix socket') as place,
      pg_backend_pid() as pid, pg_is_in_recovery() as "isStandby",
      current_setting('default_transaction_read_only') = 'on' as "isReadOnly"`)
  const { version, number, place, pid, isStandby, isReadOnly } = onlyRow(rows)
  // Of a pooler, the process that answers is not the one that was announced.
  const isPooled = pid !== (rows.state as { pid?: number }).pid
  const through = isPooled
    ? ', through a pooler, so that no statement is prepared; if it is PgBouncer, set its server_login_retry to 1'
    : ''
  const found = `Postgres ${version} at ${place}${through}`
  if (number < 150_000) return wrong(`${found}: axport needs 15 or newer`)
  if (!isStandby && !isReadOnly) return ok(found)
  const why = isStandby ? 'it is a standby' : 'default_transaction_read_only is on'
  return warning(
    `${found}, which takes no writes (${why}): no tokens are issued, and no pages answered while disclosures are ` +
      `recorded; ${isStandby ? 'name the primary in DATABASE_URL' : 'set it to off'}`,
  )
}

/** Tokens expire by the database's clock; logs have the host's. */
const CLOCK_TOLERANCE_MS = 2000

/** How far the clocks of host and database differ, which is known to half a round trip. */
export async function howFarClocksDiffer(db: Db): Promise<Outcome> {
  const sentAt = Date.now()
  const rows = await rowsOf<{ nowMs: number }>(
    db,
    sql`
    select 1000 * extract(epoch from clock_timestamp())::double precision as "nowMs"`,
  )
  const answeredAt = Date.now()
  const differenceMs = Math.abs(onlyRow(rows).nowMs - (sentAt + answeredAt) / 2) - (answeredAt - sentAt) / 2
  const seconds = differenceMs < 100 ? 'less than 0.1' : (differenceMs / 1000).toFixed(1)
  const found = `host and database differ by ${seconds} s`
  return differenceMs > CLOCK_TOLERANCE_MS ? warning(`${found}: synchronize both`) : ok(found)
}
