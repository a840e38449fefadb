import type { Fragment, Sql } from 'postgres'
import { Failure } from '../errors.ts'

/** What to look for in the record of disclosures; what is left out stands for everything. */
export interface Question {
  /** An educator, whether or not there is anything of the person in the data; decimal digits. */
  userId?: string
  assessmentId?: string
  clientId?: string
  /** From this moment on, or from the beginning of this day. */
  since?: Moment
  /** Until this moment, or until the end of this day. */
  until?: Moment
}

/** So many seconds ago, or a day (YYYY-MM-DD) in the time zone of the platform. */
export type Moment = { ago: number } | { day: string }

/** The period of a question, as Postgres prints instants in UTC: from the first to before the last. */
export interface Period {
  from: string
  to: string
}

/** When the period of a question begins and ends; by default with the first answer of the record, and now. */
export async function periodOf(db: Sql, { since, until }: Question): Promise<Period> {
  const [period] = await db<Period[]>`
    select
      coalesce(${instant(db, since, 0)}, (select min(at) from disclosures), now())::text as from,
      coalesce(${instant(db, until, 1)}, clock_timestamp())::text as to`
  if (!period) throw new Error('a select without from gave no row')
  return period
}

/** @param later so many days behind the beginning of a day */
function instant(db: Sql, moment: Moment | undefined, later: number): Fragment {
  if (!moment) return db`null::timestamptz`
  if ('ago' in moment) return db`now() - make_interval(secs => ${moment.ago})`
  return db`((${moment.day}::text::date + ${later}::integer)::timestamp at time zone (select time_zone from export_state))`
}

/**
 * The condition that holds for the rows of `disclosures` which answer a question, in a part of its period.
 * @param history the rows of integration_history of the integration that is asked for
 */
export function conditionOf(
  db: Sql,
  { userId, assessmentId }: Question,
  history: string[] | undefined,
  { from, to }: Period,
): Fragment {
  const conditions = [
    ...(userId === undefined ? [] : [shows(db, 'user_ids', userId)]),
    ...(assessmentId === undefined ? [] : [shows(db, 'assessment_ids', assessmentId)]),
    ...(history === undefined ? [] : [db`history_id = any (${history}::bigint[])`]),
  ]
  return conditions.reduce(
    (all, one) => db`${all} and ${one}`,
    db`at >= ${from}::text::timestamptz and at < ${to}::text::timestamptz`,
  )
}

/** Ids beyond integer stand in columns of their own. Each answer names few ids: no array is sorted, and none has an index. */
function shows(db: Sql, column: 'user_ids' | 'assessment_ids', id: string): Fragment {
  return BigInt(id) <= MAX_INTEGER
    ? db`${id}::integer = any (${db(column)})`
    : db`coalesce(${id}::bigint = any (${db(`large_${column}`)}), false)`
}

const MAX_INTEGER = 2n ** 31n - 1n

/**
 * The rows of integration_history by which the record knows the integration of a question; undefined for all.
 * @throws Failure for a client id that was never one of an integration
 */
export async function historyOf(db: Sql, { clientId }: Question): Promise<string[] | undefined> {
  if (clientId === undefined) return undefined
  const rows = await db<{ id: string }[]>`select id from integration_history where client_id = ${clientId}`
  if (rows.length > 0) return rows.map(({ id }) => id)
  throw new Failure(
    `there never was an integration ${clientId}: axport integration history shows those that there were`,
  )
}
