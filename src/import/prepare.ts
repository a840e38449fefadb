import type { TransactionSql } from 'postgres'
import { onlyRow } from '../database/statement.ts'
import { dropErased } from './erased.ts'
import { listColumns } from './fields.ts'
import { analyzeStaging, indexPlaces, indexStaging } from './indexes.ts'
import { TABLE_OF, type Type } from './source-rows.ts'
import type { Staged } from './stage.ts'

/** Merges repeated rows, and leaves out erased people. Bad rows go to import_rejects. */
export async function prepareStaging(sql: TransactionSql, staged: Staged, hasPartsApart: boolean) {
  const isIndexed = await indexStaging(sql, staged.lines)
  const repeated: Type[] = []
  for (const type of staged.unordered)
    if ((type !== 'part' || hasPartsApart) && (await comesTwice(sql, type))) repeated.push(type)
  if (repeated.length > 0) await indexPlaces(sql, staged.lines)
  for (const type of repeated) if (type !== 'part') await removeRepetitions(sql, type)
  if (repeated.includes('assessment')) await dropOrphanedParts(sql)
  const erased = await dropErased(sql)
  if (hasPartsApart) {
    if (repeated.includes('part')) await removeRepetitions(sql, 'part')
    await sql`
      with removed as (delete from import_assessment_parts where deleted returning file, line, id, assessment_id)
      insert into import_removed_parts (file, line, id, assessment_id) select file, line, id, assessment_id from removed`
    // Numbered as those that come with their assessment: from 1, in the order of the source.
    await sql`
      update import_assessment_parts p set position = numbered.position
      from (
        select line, row_number() over (partition by assessment_id order by position nulls last, line) as position
        from import_assessment_parts where apart
      ) as numbered
      where p.apart and p.line = numbered.line and p.position is distinct from numbered.position`
  }
  // Where nothing was merged or taken out, the first statistics are right.
  const isMerged = hasPartsApart || repeated.length > 0 || erased.lines > 0
  if (isMerged || !isIndexed) await analyzeStaging(sql)
  return erased
}

/** Drops parts that came with an assessment which is bad or a repetition. */
async function dropOrphanedParts(sql: TransactionSql): Promise<void> {
  await sql`
    delete from import_assessment_parts p
    where p.apart is null
      and not exists (select from import_assessments a where (a.file, a.line) = (p.file, p.line) and not a.deleted)`
}

/** Whether an id has several rows of that type, bad ones among them. */
async function comesTwice(sql: TransactionSql, type: Type): Promise<boolean> {
  const { isSo } = onlyRow(
    await sql.unsafe<{ isSo: boolean }[]>(`select exists (${repeatedIds(type)}) as "isSo"`),
  )
  return isSo
}

const isOwnRow = (type: Type) => (type === 'part' ? 'r.apart' : 'true')

const repeatedIds = (type: Type) => `
  select id from (
    select r.id from import_${TABLE_OF[type]} r where ${isOwnRow(type)}
    union all select id from import_rejects where type = '${type}'
  ) as all_ids
  group by id having count(*) > 1`

/** The assessment that cannot be loaded without a row `r` of that type. */
const assessmentOf = (type: Type) =>
  ({ assessment: 'r.id', part: 'r.assessment_id' })[type as string] ?? 'null::bigint'

/** The parts that came with an assessment `r`, as text. */
const PARTS = `, (
  select string_agg((p.id, p.name, p.certified_at, p.proctor_id)::text, ' ' order by p.position)
  from import_assessment_parts p where (p.file, p.line) = (r.file, r.line) and p.apart is null
)`

/** The educator of a row `r` of that type. */
const educatorOf = (type: Type) => (type === 'assessment' ? 'r.user_id' : 'null::bigint')

/**
 * All rows of a type that stand for themselves are in one file. Of equal rows for one id the first stays. If they
 * differ, also by the parts that came with an assessment, all of them are bad: nobody knows which one is right. Every
 * row differs from one that could not be read.
 */
async function removeRepetitions(sql: TransactionSql, type: Type): Promise<void> {
  const table = `import_${TABLE_OF[type]}`
  await sql.unsafe(`
    with repeated as (${repeatedIds(type)}),
    records as (
      select r.file, r.line, r.id, ${assessmentOf(type)} as assessment_id,
        ${educatorOf(type)} as user_id,
        concat((r.deleted, ${listColumns(type, 'r.')})::text ${type === 'assessment' ? PARTS : ''}) as content,
        false as is_rejected
      from ${table} r join repeated using (id)
      where ${isOwnRow(type)}
      union all
      select file, line, id, null, null, format('bad %s:%s', file, line), true
      from import_rejects join repeated using (id) where type = '${type}'
    ),
    compared as (
      select *, first_value(line) over by_id as first_line, first_value(content) over by_id as first_content
      from records window by_id as (partition by id order by line)
    ),
    judged as (
      select *,
        case when content <> first_content then first_line
        else min(line) filter (where content <> first_content) over (partition by id) end as other_line
      from compared
    ),
    gone as (
      delete from ${table} r
      using judged j
      where ${isOwnRow(type)} and (r.file, r.line) = (j.file, j.line) and (j.other_line is not null or j.line <> j.first_line)
    )
    insert into import_rejects (file, line, id, type, assessment_id, user_id, reason)
    select file, line, id, '${type}', assessment_id, user_id, format('${type} %s differs from @%s:%s', id, file, other_line)
    from judged where other_line is not null and not is_rejected`)
}
