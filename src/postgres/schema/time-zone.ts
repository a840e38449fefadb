import type { Sql } from 'postgres'
import { Failure } from '../../errors.ts'

/**
 * Names that Postgres accepts and that are not zones: localtime is a setting of the server's machine, Factory a machine
 * without that setting; posix/ and right/ are copies of the zones that not every server has, right/ with leap seconds.
 */
const NO_ZONE = /^(localtime$|posixrules$|Factory$|posix\/|right\/)/

/**
 * Sets the platform's time zone, which renders every record anew in the same transaction. Returns whether it changed.
 * @throws Failure for a zone that Postgres does not know, or that is different on other servers
 */
export async function setTimeZone(sql: Sql, timeZone: string): Promise<boolean> {
  if (NO_ZONE.test(timeZone)) {
    const city = timeZone.replace(/^(posix|right)\//, '')
    throw new Failure(
      `the time zone ${timeZone} is not the same on every server: give one as Area/City, for example ${city === timeZone ? 'Europe/Berlin' : city}`,
    )
  }
  const [known] = await sql`select from pg_timezone_names where name = ${timeZone}`
  if (!known)
    throw new Failure(`there is no time zone ${timeZone}: give one as Area/City, for example Europe/Berlin`)
  const changed = await sql`
    update export_state set time_zone = ${timeZone} where time_zone <> ${timeZone} returning 1`
  return changed.length > 0
}
