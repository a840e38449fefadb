import type { Sql } from 'postgres'
import { Failure } from '../errors.ts'

/**
 * Sets the platform's time zone and renders every record anew, in one transaction. Returns whether it was
 * another one before.
 * @throws Failure for a zone that Postgres does not know
 */
export async function setTimeZone(sql: Sql, timeZone: string): Promise<boolean> {
  const [known] = await sql`select from pg_timezone_names where name = ${timeZone}`
  if (!known)
    throw new Failure(`there is no time zone ${timeZone}: give one as Area/City, for example Europe/Berlin`)
  const changed = await sql`
    update export_state set time_zone = ${timeZone} where time_zone <> ${timeZone} returning 1`
  return changed.length > 0
}
