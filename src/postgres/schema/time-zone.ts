import type { Sql } from 'postgres'
import { Failure } from '../../errors.ts'

/**
 * What Postgres takes for zones and is none: "localtime" is whatever the server's machine was set to, "Factory" a
 * machine that was never set; posix/ and right/ are other copies of the same zones, right/ with leap seconds,
 * and not on every server.
 */
const NO_ZONE = /^(localtime$|posixrules$|Factory$|posix\/|right\/)/

/**
 * Sets the platform's time zone and renders every record anew, in one transaction. Returns whether it was
 * another one before.
 * @throws Failure for a zone that Postgres does not know, or that means something else on another server
 */
export async function setTimeZone(sql: Sql, timeZone: string): Promise<boolean> {
  if (NO_ZONE.test(timeZone)) {
    const place = timeZone.replace(/^(posix|right)\//, '')
    throw new Failure(
      `the time zone ${timeZone} is not the same on every server: give one as Area/City, for example ${place === timeZone ? 'Europe/Berlin' : place}`,
    )
  }
  const [known] = await sql`select from pg_timezone_names where name = ${timeZone}`
  if (!known)
    throw new Failure(`there is no time zone ${timeZone}: give one as Area/City, for example Europe/Berlin`)
  const changed = await sql`
    update export_state set time_zone = ${timeZone} where time_zone <> ${timeZone} returning 1`
  return changed.length > 0
}
