import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { Sql } from 'postgres'
import { disclosures as d, exportState, integrationHistory as h, integrations as i } from '../../db/schema.ts'
import { rowsOf } from '../database/orm.ts'
import { onlyRow } from '../database/statement.ts'
import { Failure, UsageFailure } from '../errors.ts'

/** What disclosures are asked for. A field that is left out matches everything. */
export interface DisclosureFilter {
  /** The id of an educator, who need not be in the data; decimal digits. */
  userId?: string
  /** The id of a person who proctors assessments of others, by their parts of today: the record has no proctors. Decimal digits. */
  proctorId?: string
  clientId?: string
  /** From this moment on, or from the beginning of this day. */
  since?: Moment
  /** Until this moment, or until the end of this day. */
  until?: Moment
}

/** A number of seconds ago, or a day (YYYY-MM-DD) in the time zone of the platform. */
export type Moment = { ago: number } | { day: string }

/** SQL: the rows of `disclosures` that match a filter, each with the name and the purpose of its integration then. */
export const matching = (filter: DisclosureFilter): SQL => sql`
  ${d} left join (${NAMES}) as named
    on named.client_id = ${d.clientId} and ${d.at} >= named.since and ${d.at} < named.until
  where ${conditionOf(filter) ?? sql`true`}`

/**
 * SQL: how each integration was called, and for what purpose it read, from when to when. Its first event counts for the time
 * before, too. One that was made with SQL has no event, and the present name.
 */
const NAMES = sql`
  select client_id, name, purpose,
    case when lag(at) over events is null then '-infinity' else at end as since,
    lead(at, 1, 'infinity') over events as until
  from ${h}
  window events as (partition by client_id order by at, id)
  union all
  select client_id, name, purpose, '-infinity', 'infinity'
  from ${i} where not exists (select from ${h} where ${h.clientId} = ${i.clientId})`

function conditionOf({ userId, proctorId, clientId, since, until }: DisclosureFilter): SQL | undefined {
  return and(
    since && sql`${d.at} >= ${instant(since, 0)}`,
    until && sql`${d.at} < ${instant(until, 1)}`,
    userId === undefined ? undefined : shows(userId),
    proctorId === undefined ? undefined : showsProctoredBy(proctorId),
    clientId === undefined ? undefined : eq(d.clientId, clientId),
  )
}

/** @param later days after the beginning of a day */
function instant(moment: Moment, later: number): SQL {
  if ('ago' in moment) return sql`now() - make_interval(secs => ${moment.ago})`
  return sql`((${moment.day}::text::date + ${later}::integer)::timestamp at time zone (select ${exportState.timeZone} from ${exportState}))`
}

/** Ids beyond integer have a column of their own. An answer has few ids: its arrays are unsorted, without an index. */
const shows = (userId: string): SQL =>
  BigInt(userId) <= MAX_INTEGER
    ? sql`${userId}::integer = any (${d.userIds})`
    : sql`${userId}::bigint = any (${d.largeUserIds})`

/**
 * Postgres finds the assessments once, and looks each id of an answer up in their hash: 0.7 µs. With "exists", it would read
 * all of them again for each answer.
 */
const showsProctoredBy = (userId: string): SQL => sql`(
    select bool_or(shown.id in (
      select a.id from assessment_parts p join assessments a on a.id = p.assessment_id
      where p.proctor_id = ${userId}::bigint and a.user_id <> p.proctor_id
    ))
    from unnest(${d.assessmentIds}::bigint[] || coalesce(${d.largeAssessmentIds}, '{}')) as shown (id)
  )`

const MAX_INTEGER = 2n ** 31n - 1n

/** @throws UsageFailure for a time that ends before it begins: it would have been taken for one without answers */
export async function requirePeriod(db: Sql, { since, until }: DisclosureFilter): Promise<void> {
  if (since === undefined || until === undefined) return
  const { isEmpty } = onlyRow(
    await rowsOf<{ isEmpty: boolean }>(
      db,
      sql`select ${instant(until, 1)} <= ${instant(since, 0)} as "isEmpty"`,
    ),
  )
  if (isEmpty)
    throw new UsageFailure('--until is before --since: give a later --until, or an earlier --since')
}

/** @throws Failure for a client id that no integration ever had: a mistyped one would have been shown nothing */
export async function requireKnownIntegration(db: Sql, { clientId }: DisclosureFilter): Promise<void> {
  if (clientId === undefined) return
  const found = await rowsOf(
    db,
    sql`
    select from ${h} where ${h.clientId} = ${clientId}
    union all select from ${i} where ${i.clientId} = ${clientId}
    union all (select from ${d} where ${d.clientId} = ${clientId} limit 1)
    limit 1`,
  )
  if (found.length > 0) return
  throw new Failure(
    `there never was an integration ${clientId}: axport integration list and history show those that there were`,
  )
}
