import type { TransactionSql } from 'postgres'
import { type BulkLoad, startBulkLoad } from '../postgres/schema/bulk.ts'
import type { Summary } from './changes.ts'

/**
 * Assessments that are brought into the source tables by one round of statements. The triggers render the
 * records of a round at once: large enough that a statement's own cost vanishes, small enough that its
 * transition tables and arrays stay in memory.
 */
const ROUND = 20_000

/** How far it is: so many of the assessments that change, so many records of a first load, or building what was put off. */
export type ApplyProgress =
  | { phase: 'loading' | 'rendering'; done: number; total: number }
  | { phase: 'indexing' }

/** Brings the staged rows that differ into the source tables. */
export async function applyStaging(
  sql: TransactionSql,
  summary: Summary,
  onProgress: (progress: ApplyProgress) => void,
): Promise<void> {
  const { inserted = 0, updated = 0 } = summary.assessments ?? {}
  const relief = await startBulkLoad(sql, inserted + updated)
  await sql`
    insert into organizations as t (id, name)
    select id, name from import_organizations join changed_organizations using (id)
    on conflict (id) do update set name = excluded.name`
  await sql`
    insert into products as t (id, name)
    select id, name from import_products join changed_products using (id)
    on conflict (id) do update set name = excluded.name`
  const changes = relief.isEmpty('users')
    ? sql``
    : sql`
    on conflict (id) do update set
      (name, first_name, last_name, email, seid, record_status) =
      (excluded.name, excluded.first_name, excluded.last_name, excluded.email, excluded.seid, excluded.record_status)`
  await sql`
    insert into users as t (id, name, first_name, last_name, email, seid, record_status)
    select id, name, first_name, last_name, email, seid, record_status
    from import_users join changed_users using (id) ${changes}`

  await deleteAssessments(sql)
  await deleteParts(sql)
  await applyAssessments(sql, relief, inserted + updated, (done, total) =>
    onProgress({ phase: 'loading', done, total }),
  )
  onProgress({ phase: 'indexing' })
  await relief.finish((done, total) =>
    onProgress(done < total ? { phase: 'rendering', done, total } : { phase: 'indexing' }),
  )

  // Last, when nothing refers to them any more.
  await sql`delete from users where id in (select id from import_users where deleted)`
  await sql`delete from products where id in (select id from import_products where deleted)`
  await sql`delete from organizations where id in (select id from import_organizations where deleted)`
}

/** Parts go before their assessment: its cascade would delete them one assessment at a time. */
async function deleteAssessments(sql: TransactionSql): Promise<void> {
  await sql`
    delete from assessment_parts where assessment_id in (select id from import_assessments where deleted)`
  await sql`delete from assessments where id in (select id from import_assessments where deleted)`
}

/**
 * Parts that their assessment no longer has. All of them before anything is added: their ids may be taken
 * over by other parts, or by assessments, of another round.
 */
async function deleteParts(sql: TransactionSql): Promise<void> {
  await sql`
    delete from assessment_parts t
    using changed_assessments c
    where not c.is_new and t.assessment_id = c.id
      and exists (select from import_parts p where p.assessment_id = c.id)
      and not exists (select from import_parts p where p.id = t.id and p.assessment_id = c.id)`
}

async function applyAssessments(
  sql: TransactionSql,
  relief: BulkLoad,
  total: number,
  onProgress: (done: number, total: number) => void,
) {
  if (relief.isEmpty('assessments')) {
    onProgress(0, total)
    return await applyRound(sql, relief, '-9223372036854775808', '9223372036854775807')
  }
  if (total > ROUND) {
    await sql`create index on changed_assessments (id)`
    await sql`create index on import_assessments (id)`
    await sql`create index on import_parts (assessment_id)`
  }
  let after = '0'
  for (let done = 0; done < total; ) {
    const [round] = await sql<{ last: string; count: string }[]>`
      select max(id) as last, count(*) as count
      from (select id from changed_assessments where id > ${after} order by id limit ${ROUND}) as round`
    if (!round?.last) break
    await applyRound(sql, relief, after, round.last)
    after = round.last
    done += Number(round.count)
    onProgress(done, total)
  }
}

/**
 * The changed assessments past `after`, up to `last`, with their parts. Parts first: the record of a new
 * assessment is then rendered once, when the assessment arrives, and not already without its parts.
 */
async function applyRound(sql: TransactionSql, relief: BulkLoad, after: string, last: string): Promise<void> {
  const isFirst = relief.isEmpty('assessments')
  const changesParts = sql`
    on conflict (id) do update set
      (assessment_id, position, name, certified_at, proctor_id) =
      (excluded.assessment_id, excluded.position, excluded.name, excluded.certified_at, excluded.proctor_id)
    where (t.*) is distinct from (excluded.*)`
  const changesAssessments = sql`
    on conflict (id) do update set
      (user_id, organization_id, product_id, certified_at, legacy_record) =
      (excluded.user_id, excluded.organization_id, excluded.product_id, excluded.certified_at, excluded.legacy_record)
    where (t.*) is distinct from (excluded.*)`
  await sql`
    insert into assessment_parts as t (id, assessment_id, position, name, certified_at, proctor_id)
    select p.id, p.assessment_id, p.position, p.name, p.certified_at, p.proctor_id
    from changed_assessments c
    join import_parts p on p.assessment_id = c.id
    where c.id > ${after} and c.id <= ${last} and p.assessment_id > ${after} and p.assessment_id <= ${last}
    ${isFirst ? sql`` : changesParts}`
  await sql`
    insert into assessments as t (id, user_id, organization_id, product_id, certified_at, legacy_record)
    select a.id, a.user_id, a.organization_id, a.product_id, a.certified_at, a.legacy_record
    from changed_assessments c
    join import_assessments a on a.id = c.id
    where c.id > ${after} and c.id <= ${last} and a.id > ${after} and a.id <= ${last}
    ${isFirst ? sql`` : changesAssessments}`
}
