import type { TransactionSql } from 'postgres'
import { onlyRow } from '../database/statement.ts'
import {
  type ImportSource,
  inWords,
  type Located,
  type Place,
  placeIn,
  ROW_TYPES,
  TABLE_OF,
} from './source-rows.ts'

/** A row that cannot be loaded, and why. */
export type Problem = Place & { reason: string }

/** A row that was left out, with its original text unless that was too long to be kept. */
export type Reject = Problem & { text?: string | undefined }

/** The number of bad rows. */
export async function countRejects(sql: TransactionSql): Promise<number> {
  const { count } = onlyRow(
    await sql<{ count: number }[]>`
      select count(*)::float8 as count from (select distinct file, line from import_rejects) as bad`,
  )
  return count
}

/** The first bad row, in this file or in any, of which nobody knows the subject. */
export async function firstUnidentified(
  sql: TransactionSql,
  source: ImportSource,
  inFile?: number,
): Promise<Problem | undefined> {
  const [row] = await sql<(Located & { reason: string })[]>`
    select file, line::float8 as line, reason from import_rejects
    where id is null and assessment_id is null and file = coalesce(${inFile ?? null}::integer, file)
    order by 1, 2 limit 1`
  return row && { ...placeIn(source, row), reason: inWords(source, row.reason) }
}

/** The first `limit` reasons against bad rows, causes before consequences. `listed` is the number of these rows. */
export async function firstProblems(sql: TransactionSql, source: ImportSource, limit: number) {
  const rows = await sql<(Located & { reason: string })[]>`
    select file, line::float8 as line, max(id)::float8 as id, max(assessment_id)::float8 as assessment_id, reason
    from import_rejects r
    group by r.file, r.line, reason order by min(coalesce(step, 0)), r.file, r.line, reason limit ${limit}`
  const problems = rows.map(row => ({ ...placeIn(source, row), reason: inWords(source, row.reason) }))
  return { problems, listed: new Set(rows.map(({ file, line }) => `${file}:${line}`)).size }
}

/** A reason without the ids in it, and the number of bad rows that it is against. */
export interface Reason {
  reason: string
  count: number
}

/** The reasons against all bad rows, causes first. */
export async function countReasons(sql: TransactionSql, source: ImportSource): Promise<Reason[]> {
  const rows = await sql<Reason[]>`
    select regexp_replace(reason, '(@|(?:organization|product|user|assessment|part) )[-0-9:]+', '\\1…', 'g') as reason,
      count(distinct (file, line))::float8 as count
    from import_rejects
    group by 1 order by min(coalesce(step, 0)), 2 desc, 1`
  return rows.map(({ reason, count }) => ({
    reason: reason.replaceAll('@…', `another ${source.unit}`),
    count,
  }))
}

/** All bad rows, in the order of the source. */
export async function* readRejects(sql: TransactionSql, source: ImportSource): AsyncGenerator<Reject> {
  const batches = sql<(Located & { reasons: string; text: string | null })[]>`
    select r.file, r.line::float8 as line, max(r.id)::float8 as id, max(r.assessment_id)::float8 as assessment_id,
      string_agg(distinct reason, '; ' order by reason) as reasons, min(t.text) as text
    from import_rejects r left join import_texts t on (t.file, t.line) = (r.file, r.line)
    group by r.file, r.line
    order by r.file, r.line`.cursor(100)
  for await (const rows of batches)
    for (const { reasons, text, ...located } of rows)
      yield {
        ...placeIn(source, located),
        reason: inWords(source, reasons),
        text: text === null ? undefined : (JSON.parse(text) as string),
      }
}

/**
 * Rejects the rows `found` by problems(). Unless the import is all or nothing, takes them out until the others fit
 * together.
 */
export async function rejectRows(sql: TransactionSql, found: string, isAllOrNothing: boolean): Promise<void> {
  if (isAllOrNothing)
    return void (await sql.unsafe(
      `insert into import_rejects (file, line, id, reason, step) select *, 1 from (${found}) as found`,
    ))
  const deletions = [...Object.values(TABLE_OF), 'removed_parts'].map(
    table =>
      `, bad_${table} as (delete from import_${table} where (file, line) in (select file, line from found))`,
  )
  const takeOut = (step: number) =>
    sql.unsafe(`
      with found (file, line, id, reason) as materialized (${found}),
      rejects as (
        insert into import_rejects (file, line, id, assessment_id, user_id, reason, step)
        select found.file, found.line, found.id, coalesce(p.assessment_id, a.id), a.user_id, reason, ${step}
        from found
        -- Parts that came with their assessment have its line, each of them.
        left join import_assessment_parts p on (p.file, p.line) = (found.file, found.line) and p.apart
        left join import_assessments a on (a.file, a.line) = (found.file, found.line)
        -- A removal by --sync of something that is still needed is no fault of the source: it is left undone.
        where found.file >= 0
      )
      ${deletions.join('')}
      select from found limit 1`)
  let step = 1
  do await rejectCompanions(sql, step++)
  while ((await takeOut(step++)).length > 0)
}

/** An assessment with a bad row is not loaded at all: its other rows go, and all changes of rows that went. */
async function rejectCompanions(sql: TransactionSql, step: number): Promise<void> {
  await sql`
    with bad as (select distinct assessment_id as id from import_rejects where assessment_id is not null),
    assessments as (
      delete from import_assessments a using bad where a.id = bad.id
      returning a.file, a.line, a.id, a.id as assessment_id, a.user_id
    ),
    parts as (
      delete from import_assessment_parts p using bad
      where p.assessment_id = bad.id returning p.file, p.line, p.id, p.assessment_id, null::bigint
    )
    insert into import_rejects (file, line, id, assessment_id, user_id, reason, step)
    select file, line, id, assessment_id, user_id,
      format('assessment %s cannot be loaded without another line that is bad', assessment_id), ${step}
    from (select * from assessments union select * from parts) as companions`
  for (const type of ROW_TYPES) {
    const table = TABLE_OF[type]
    const parts =
      type === 'assessment'
        ? 'and not exists (select from import_assessment_parts p where p.assessment_id = c.id)'
        : ''
    await sql.unsafe(`
      delete from changed_${table} c
      where not exists (select from import_${table} i where i.id = c.id and not i.deleted) ${parts}`)
  }
}
