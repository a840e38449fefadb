import type { TransactionSql } from 'postgres'
import { SYNC_PLACE } from './record.ts'

/** What an import leaves out because of erased people: the number of people, and of records of the source. */
export interface LeftOut {
  people: number
  lines: number
}

/** Rows for erased people come after those that --sync stages, of four types. */
const ERASED_PLACE = SYNC_PLACE + 4 * 2 ** 36

export const NOBODY: LeftOut = { people: 0, lines: 0 }

/**
 * Takes erased people out of the staging tables, before anything is compared with the database: their users, the
 * assessments of which they are the educator, with all parts, and bad records about them. An assessment that went over to
 * an erased person is removed. Erased proctors of other assessments are staged without a name.
 * @param hasPartsApart parts may have arrived apart from their assessment
 */
export async function leaveOutErased(sql: TransactionSql, hasPartsApart: boolean): Promise<LeftOut> {
  const [any] = await sql<{ isOne: boolean }[]>`select exists (select from erasures) as "isOne"`
  if (!any?.isOne) return NOBODY
  await sql`
    create temporary table import_erased (type text, user_id bigint, line bigint, assessment_id bigint)
    on commit drop`
  await leaveOutAssessments(sql)
  if (hasPartsApart) await leaveOutPartsAlone(sql)
  await leaveOutRejects(sql)
  await leaveOutUsers(sql)
  await stageProctors(sql)
  await noteAssessments(sql)
  const [left] = await sql<{ people: string; lines: string }[]>`
    select count(distinct user_id) as people, count(distinct line) as lines from import_erased`
  return { people: Number(left?.people), lines: Number(left?.lines) }
}

async function leaveOutAssessments(sql: TransactionSql): Promise<void> {
  await sql`
    with theirs as (
      select i.line, e.user_id from import_assessments i join erasures e using (user_id) where not i.deleted
    ),
    gone as (
      delete from import_assessments i using theirs
      where i.line = theirs.line returning theirs.user_id, i.line, i.id
    )
    insert into import_erased (type, user_id, line, assessment_id) select 'assessment', user_id, line, id from gone`
  await sql`
    with gone as (
      delete from import_assessment_parts p using import_erased e
      where p.assessment_id = e.assessment_id returning e.user_id, p.line
    )
    insert into import_erased (type, user_id, line) select 'part', user_id, line from gone`
  await sql`
    with gone as (
      delete from import_rejects r using import_erased e
      where r.assessment_id = e.assessment_id returning e.user_id, r.line
    )
    insert into import_erased (type, user_id, line) select 'part', user_id, line from gone`
  await sql`
    insert into import_assessments (line, id, deleted)
    select e.line, t.id, true from import_erased e join assessments t on t.id = e.assessment_id`
}

/** Parts without their assessment, which would be stored if its educator were. */
async function leaveOutPartsAlone(sql: TransactionSql): Promise<void> {
  await sql`
    with gone as (
      delete from import_assessment_parts p
      using (select min(user_id) as user_id, id from erasures, unnest(assessment_ids) as id group by id) e
      where p.apart and p.assessment_id = e.id
        and not exists (select from import_assessments i where i.id = p.assessment_id)
        and not exists (select from assessments t where t.id = p.assessment_id)
      returning e.user_id, p.line
    )
    insert into import_erased (type, user_id, line) select 'part', user_id, line from gone`
}

/**
 * Bad records of assessments that are neither stored nor staged: records with an erased educator, and records without an
 * educator of an assessment in a tombstone. A bad record with another educator stays.
 */
async function leaveOutRejects(sql: TransactionSql): Promise<void> {
  await sql`
    with bad as (
      select r.*, case when type = 'assessment' then id else assessment_id end as about from import_rejects r
    ),
    known as (select min(user_id) as user_id, id from erasures, unnest(assessment_ids) as id group by id),
    theirs as (
      select bad.line, e.user_id, bad.about from bad join erasures e using (user_id)
      union all
      select bad.line, known.user_id, bad.about from bad join known on known.id = bad.about where bad.user_id is null
    ),
    gone as (
      delete from import_rejects r using theirs
      where r.line = theirs.line
        and not exists (select from import_assessments i where i.id = theirs.about)
        and not exists (select from assessments t where t.id = theirs.about)
      returning theirs.user_id, r.line, theirs.about
    )
    insert into import_erased (type, user_id, line, assessment_id) select 'assessment', user_id, line, about from gone`
}

async function leaveOutUsers(sql: TransactionSql): Promise<void> {
  await sql`
    with gone as (
      delete from import_users i using erasures e
      where i.id = e.user_id and not i.deleted returning e.user_id, i.line
    )
    insert into import_erased (type, user_id, line) select 'user', user_id, line from gone`
  await sql`
    with gone as (
      delete from import_rejects r using erasures e
      where r.type = 'user' and r.id = e.user_id returning e.user_id, r.line
    )
    insert into import_erased (type, user_id, line) select 'user', user_id, line from gone`
}

/**
 * Stages erased people without a name: those whom the source names and the database has, and those whom a part needs as
 * its proctor. They have places of their own, so that a bad record does not take them along.
 */
async function stageProctors(sql: TransactionSql): Promise<void> {
  await sql`
    insert into import_users (line, id, deleted, name, first_name, last_name, email, seid, record_status)
    select ${ERASED_PLACE}::bigint + row_number() over (), person.id, false, person.name, person.first_name, person.last_name, person.email,
      person.seid, person.record_status
    from (
      select user_id from import_erased where type = 'user' and exists (select from users t where t.id = user_id)
      union
      select e.user_id from import_assessment_parts p join erasures e on e.user_id = p.proctor_id
    ) as needed
    cross join lateral erased_person(needed.user_id) as person
    where not exists (select from import_users i where i.id = needed.user_id)`
}

/** Adds the assessments to the tombstones: a later part, or a bad record, may name one of them without its educator. */
async function noteAssessments(sql: TransactionSql): Promise<void> {
  await sql`
    update erasures e
    set assessment_ids = array(select unnest(e.assessment_ids) union select unnest(seen.ids) order by 1)
    from (
      select user_id, array_agg(assessment_id) as ids from import_erased
      where assessment_id is not null group by user_id
    ) as seen
    where seen.user_id = e.user_id and not seen.ids <@ e.assessment_ids`
}
