import { sql } from 'drizzle-orm'
import { Failure } from '../errors.ts'
import { MIGRATIONS } from './migrations.ts'
import { rowsOf } from './orm.ts'
import { compareSchema } from './schema-record.ts'
import { requirePath } from './search-path.ts'
import { type CommandSql, transact } from './transact.ts'

/**
 * Looks, before anything is migrated, whether the database will have a time zone that somebody has chosen: with a wrong one,
 * days of the API are wrong and nothing fails.
 * @param timeZone the one to be set; undefined if it stays as it is
 * @throws Failure for an unusable one, and for none if the database is new; as requirePath()
 */
export async function requireTimeZone(db: CommandSql, timeZone: string | undefined): Promise<void> {
  if (timeZone !== undefined) return await requireUsable(db, timeZone)
  const { missing } = await compareSchema(db)
  if (missing.length < MIGRATIONS.length) return
  // A database whose tables are elsewhere is not new.
  await requirePath(db)
  throw new Failure(
    "a new database needs the platform's time zone, in which its days begin: add --time-zone Area/City, for example --time-zone Europe/Berlin",
  )
}

/**
 * Sets the time zone and renders every record anew; returns whether it changed, and the number of assessments and parts that
 * have a day without a time and keep it. @throws Failure for an unusable one
 */
export async function setTimeZone(db: CommandSql, timeZone: string) {
  await requireUsable(db, timeZone)
  return await transact(db, async client => {
    await rowsOf(client, sql`select lock_export()`)
    const [{ days } = { days: 0 }] = await rowsOf<{ days: number }>(client, DAYS)
    const changed = await rowsOf(
      client,
      sql`update export_state set time_zone = ${timeZone} where time_zone <> ${timeZone} returning 1`,
    )
    const isChanged = changed.length > 0
    return { isChanged, days: isChanged ? days : 0 }
  })
}

async function requireUsable(db: CommandSql, timeZone: string): Promise<void> {
  // Postgres also accepts localtime, a setting of the server's machine; Factory, a machine without that setting; and
  // posix/ and right/, copies of the zones that not every server has, right/ with leap seconds.
  const [known] = await rowsOf(
    db,
    sql`
    select from pg_timezone_names
    where name = ${timeZone} and name !~ '^(localtime$|posixrules$|Factory$|posix/|right/)'`,
  )
  if (!known)
    throw new Failure(
      `there is no time zone ${timeZone} that is the same on every server: give one as Area/City, for example Europe/Berlin`,
    )
}

/** As the trigger on the time zone recognizes them, see db/migrations/0006. */
const DAYS = sql`
  select count(*)::integer as days
  from (select certified_at from assessments union all select certified_at from assessment_parts) as completed,
    export_state s
  where certified_at = date_trunc('day', certified_at at time zone s.time_zone) at time zone s.time_zone`
