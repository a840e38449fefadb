import type { TransactionSql } from 'postgres'

/**
 * Lines that are brought into the source tables by one round of statements. The triggers render the
 * records of a round at once: large enough that a statement's own cost vanishes, small enough that its
 * transition tables and arrays stay in memory.
 */
const ROUND = 20_000

/**
 * Brings the staged rows into the source tables. Rows that would not change are not written.
 * `onProgress` is told how many of the staged assessments are done.
 */
export async function applyStaging(
  sql: TransactionSql,
  onProgress: (done: number, total: number) => void,
): Promise<void> {
  await sql`
    insert into organizations as t (id, name)
    select id, name from import_organizations where not deleted
    on conflict (id) do update set name = excluded.name where t.name <> excluded.name`
  await sql`
    insert into products as t (id, name)
    select id, name from import_products where not deleted
    on conflict (id) do update set name = excluded.name where t.name <> excluded.name`
  await sql`
    insert into users as t (id, name, first_name, last_name, email, seid, record_status)
    select id, name, first_name, last_name, email, seid, record_status from import_users where not deleted
    on conflict (id) do update set
      (name, first_name, last_name, email, seid, record_status) =
      (excluded.name, excluded.first_name, excluded.last_name, excluded.email, excluded.seid, excluded.record_status)
    where (t.*) is distinct from (excluded.*)`

  await applyAssessments(sql, onProgress)

  // Last, when nothing refers to them any more.
  await sql`delete from users where id in (select id from import_users where deleted)`
  await sql`delete from products where id in (select id from import_products where deleted)`
  await sql`delete from organizations where id in (select id from import_organizations where deleted)`
}

async function applyAssessments(sql: TransactionSql, onProgress: (done: number, total: number) => void) {
  await sql`set constraints assessment_parts_assessment_id_fkey deferred`
  // Parts go before their assessment: its cascade would delete them one assessment at a time.
  await sql`
    delete from assessment_parts where assessment_id in (select id from import_assessments where deleted)`
  await sql`delete from assessments where id in (select id from import_assessments where deleted)`
  // All that go, before any that come: an id may change hands between lines of different rounds.
  await sql`
    delete from assessment_parts t
    using import_assessments i
    where t.assessment_id = i.id
      and not exists (select from import_parts p where p.id = t.id and p.assessment_id = t.assessment_id)`

  const rounds = await sql<{ last: string; count: string }[]>`
    select max(line) as last, count(*) as count
    from (
      select line, (row_number() over (order by line) - 1) / ${ROUND} as round from import_assessments where not deleted
    ) as numbered
    group by round order by round`
  const total = rounds.reduce((sum, round) => sum + Number(round.count), 0)
  let done = 0
  let after = '0'
  for (const { last, count } of rounds) {
    await applyRound(sql, after, last)
    after = last
    done += Number(count)
    onProgress(done, total)
  }
}

/**
 * The assessments of the lines past `after`, up to `last`, with their parts. Parts first: the record of a
 * new assessment is then rendered once, when the assessment arrives, and not already without its parts.
 */
async function applyRound(sql: TransactionSql, after: string, last: string): Promise<void> {
  await sql`
    insert into assessment_parts as t (id, assessment_id, position, name, certified_at, proctor_id)
    select id, assessment_id, position, name, certified_at, proctor_id
    from import_parts
    where line > ${after} and line <= ${last}
    on conflict (id) do update set
      (assessment_id, position, name, certified_at, proctor_id) =
      (excluded.assessment_id, excluded.position, excluded.name, excluded.certified_at, excluded.proctor_id)
    where (t.*) is distinct from (excluded.*)`
  await sql`
    insert into assessments as t (id, user_id, organization_id, product_id, certified_at, legacy_record)
    select id, user_id, organization_id, product_id, certified_at, legacy_record
    from import_assessments
    where not deleted and line > ${after} and line <= ${last}
    on conflict (id) do update set
      (user_id, organization_id, product_id, certified_at, legacy_record) =
      (excluded.user_id, excluded.organization_id, excluded.product_id, excluded.certified_at, excluded.legacy_record)
    where (t.*) is distinct from (excluded.*)`
}
