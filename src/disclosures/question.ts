import { and, eq, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { Sql } from 'postgres'
import { disclosures as d, exportState, integrationHistory as h } from '../../db/schema.ts'
import { bigints, orm, rowsOf } from '../database/orm.ts'
import { Failure } from '../errors.ts'

/** A search in the record of disclosures. A field that is left out matches everything. */
export interface Question {
  /** The id of an educator, who need not be in the data; decimal digits. */
  userId?: string
  assessmentId?: string
  clientId?: string
  /** From this moment on, or from the beginning of this day. */
  since?: Moment
  /** Until this moment, or until the end of this day. */
  until?: Moment
}

/** A number of seconds ago, or a day (YYYY-MM-DD) in the time zone of the platform. */
export type Moment = { ago: number } | { day: string }

/** The period of a question: from its first instant to before its last, as Postgres prints them in UTC. */
export interface Period {
  from: string
  to: string
}

/**
 * The period of a question; by default from the first answer of the record, and without an end: answers that were recorded
 * while the clock was ahead are later than now.
 */
export async function periodOf(db: Sql, { since, until }: Question): Promise<Period> {
  const [period] = await rowsOf<Period>(
    db,
    sql`
    select
      coalesce(${instant(since, 0)}, (select min(${d.at}) from ${d}), now())::text as from,
      coalesce(
        ${instant(until, 1)},
        greatest(clock_timestamp(), (select max(${d.at}) + interval '1 microsecond' from ${d}))
      )::text as to`,
  )
  if (!period) throw new Error('a select without from gave no row')
  return period
}

/** @param later days after the beginning of a day */
function instant(moment: Moment | undefined, later: number): SQL {
  if (!moment) return sql`null::timestamptz`
  if ('ago' in moment) return sql`now() - make_interval(secs => ${moment.ago})`
  return sql`((${moment.day}::text::date + ${later}::integer)::timestamp at time zone (select ${exportState.timeZone} from ${exportState}))`
}

/**
 * The condition for rows of `disclosures` that match a question, in a part of its period.
 * @param history the rows of integration_history of the integration in question
 */
export function conditionOf(
  { userId, assessmentId }: Question,
  history: string[] | undefined,
  { from, to }: Period,
): SQL | undefined {
  return and(
    sql`${d.at} >= ${from}::text::timestamptz`,
    sql`${d.at} < ${to}::text::timestamptz`,
    userId === undefined ? undefined : shows(d.userIds, d.largeUserIds, userId),
    assessmentId === undefined ? undefined : shows(d.assessmentIds, d.largeAssessmentIds, assessmentId),
    history === undefined ? undefined : sql`${d.historyId} = any (${bigints(history)})`,
  )
}

/** Ids beyond integer have columns of their own. An answer has few ids: its arrays are unsorted, without an index. */
const shows = (ids: SQLWrapper, largeIds: SQLWrapper, id: string): SQL =>
  BigInt(id) <= MAX_INTEGER
    ? sql`${id}::integer = any (${ids})`
    : sql`coalesce(${id}::bigint = any (${largeIds}), false)`

const MAX_INTEGER = 2n ** 31n - 1n

/**
 * The rows of integration_history of the integration in question; undefined for all integrations.
 * @throws Failure for a client id that no integration ever had
 */
export async function historyOf(db: Sql, { clientId }: Question): Promise<string[] | undefined> {
  if (clientId === undefined) return undefined
  const rows = await orm(db).select({ id: h.id }).from(h).where(eq(h.clientId, clientId))
  if (rows.length > 0) return rows.map(({ id }) => String(id))
  throw new Failure(
    `there never was an integration ${clientId}: axport integration history shows those that there were`,
  )
}
