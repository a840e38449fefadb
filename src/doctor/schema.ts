import { type SQL, sql } from 'drizzle-orm'
import { exportState as s } from '../../db/schema.ts'
import { currentRole, missingPrivileges, type Work } from '../database/grants.ts'
import { isoOf, orm } from '../database/orm.ts'
import { requireUsableSchema } from '../database/schema-record.ts'
import { EXPORT_STATE_EMPTY } from '../tables/refresh.ts'
import { type Db, type Outcome, ok, warning, wrong } from './finding.ts'

/** Whether the schema is that of this program. @throws Failure if this program cannot use it */
export async function isSchemaCurrent(db: Db): Promise<Outcome> {
  const ahead = await requireUsableSchema(db)
  if (ahead.length === 0) return ok('current')
  return warning(
    `ahead by ${ahead.length} (${ahead.join(', ')}), from which this axport can serve: upgrade it`,
  )
}

/** Which work the role of DATABASE_URL can do, and if none, what it lacks for the one that it is closest to. */
export async function whatRoleCanDo(db: Db, all: Work[]): Promise<Outcome> {
  const role = await currentRole(db)
  const works = await Array.fromAsync(all, async work => ({ work, lacks: await missingPrivileges(db, work) }))
  const able = works.filter(({ lacks }) => lacks.length === 0).map(({ work }) => work.command)
  if (able.length > 0) return ok(`${role} can ${able.join(' and ')}`)
  const [closest] = works.toSorted((a, b) => a.lacks.length - b.lacks.length)
  const { work, lacks } = closest as (typeof works)[number]
  return wrong(
    `${role} lacks ${lacks.join(', ')}: run axport migrate ${work.option} ${role} as the owner of the tables`,
  )
}

/** The time zone that decides on which day an instant falls. */
export async function whichTimeZone(db: Db): Promise<Outcome> {
  const [state] = await orm(db).select({ timeZone: s.timeZone }).from(s)
  return state ? ok(state.timeZone) : wrong(EXPORT_STATE_EMPTY)
}

/** When `axport import` last loaded something. Other programs that write the source tables leave no such time. */
export async function whenLastLoaded(db: Db): Promise<Outcome> {
  const [state] = await orm(db)
    .select({
      at: isoOf(s.lastImportAt) as SQL<string | null>,
      ago: sql<string>`date_trunc('second', now() - ${s.lastImportAt})::text`,
    })
    .from(s)
  return ok(state?.at ? `${state.at}, ${state.ago} ago` : 'none yet by axport import')
}
