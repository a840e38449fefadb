import { sql } from 'drizzle-orm'
import { Failure } from '../errors.ts'
import { rowsOf } from './orm.ts'
import { type CommandSql, transact } from './transact.ts'

/** Sets the time zone and renders every record anew; returns whether it changed. @throws Failure for an unusable one */
export async function setTimeZone(db: CommandSql, timeZone: string): Promise<boolean> {
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
  return await transact(db, async client => {
    const changed = await rowsOf(
      client,
      sql`update export_state set time_zone = ${timeZone} where time_zone <> ${timeZone} returning 1`,
    )
    return changed.length > 0
  })
}
