import type { TransactionSql } from 'postgres'
import { type Checking, problems } from './checks.ts'
import { SYNC_PLACE } from './place.ts'
import { TABLE_OF } from './record.ts'
import { STAGED } from './staging.ts'

/** Why a record cannot be loaded. `otherLine` is the place of another record that completes the reason. */
interface StagedReason {
  reason: string
  otherLine: number | undefined
}

/** A record that is left out: its place, why, and how it stands in the source where that was not too long. */
interface StagedReject {
  line: number
  reasons: StagedReason[]
  text: string | undefined
}

/** How many records are bad. */
export async function countRejects(sql: TransactionSql): Promise<number> {
  const [row] = await sql<{ count: string }[]>`select count(distinct line) as count from import_rejects`
  return Number(row?.count)
}

/** Finds what is wrong with the staged rows, and leaves them there. */
export async function findProblems(sql: TransactionSql, checking: Checking): Promise<void> {
  await sql.unsafe(`insert into import_rejects (line, reason, other_line) ${problems(checking)}`)
}

/** The first `limit` reasons against bad records from the place `from` on, by place. */
export async function firstReasons(
  sql: TransactionSql,
  limit: number,
  from: number,
): Promise<(StagedReason & { line: number })[]> {
  const rows = await sql<{ line: string; reason: string; other_line: string | null }[]>`
    select distinct line, reason, other_line from import_rejects
    where line >= ${from} order by line, reason limit ${limit}`
  return rows.map(({ line, reason, other_line }) => ({
    line: Number(line),
    reason,
    otherLine: other_line === null ? undefined : Number(other_line),
  }))
}

/**
 * Takes bad rows out of the staging tables, and then those that cannot be loaded without them, until what
 * is left fits together.
 */
export async function rejectProblems(sql: TransactionSql, checking: Checking): Promise<void> {
  const { hasPartsApart } = checking
  await sql`create temporary table import_problems (line bigint, reason text, other_line bigint) on commit drop`
  if (hasPartsApart) await rejectCompanions(sql)
  for (;;) {
    await sql`truncate import_problems`
    const found = await sql.unsafe(`insert into import_problems ${problems(checking)}`)
    if (found.count === 0) break
    // A removal by --sync of something that is still needed is no fault of the source: it is left undone.
    await sql`
      insert into import_rejects (line, reason, other_line)
      select line, reason, other_line from import_problems where line < ${SYNC_PLACE}`
    if (hasPartsApart) {
      await sql`
        update import_rejects r set assessment_id = coalesce(p.assessment_id, a.id)
        from import_problems found
        left join import_parts p on p.line = found.line
        left join import_assessments a on a.line = found.line
        where r.line = found.line and r.assessment_id is null`
    }
    for (const table of [
      ...Object.values(STAGED).map(staged => staged.name),
      'import_parts',
      'import_removed_parts',
    ])
      await sql.unsafe(`delete from ${table} where line in (select line from import_problems)`)
    if (hasPartsApart) await rejectCompanions(sql)
    await forgetChanges(sql)
  }
}

/** An assessment whose parts arrive apart from it is loaded with all of them, or not at all. */
async function rejectCompanions(sql: TransactionSql): Promise<void> {
  await sql`
    with bad as (select distinct assessment_id as id from import_rejects where assessment_id is not null),
    assessments as (
      delete from import_assessments a using bad where a.id = bad.id returning a.line, a.id
    ),
    parts as (
      delete from import_parts p using bad where p.assessment_id = bad.id returning p.line, p.assessment_id as id
    )
    insert into import_rejects (line, assessment_id, reason)
    select line, id, format('assessment %s cannot be loaded without another record that is bad', id)
    from (select * from assessments union select * from parts) as companions`
  await forgetChanges(sql)
}

async function forgetChanges(sql: TransactionSql): Promise<void> {
  for (const [type, { name }] of Object.entries(STAGED)) {
    const table = TABLE_OF[type as keyof typeof TABLE_OF]
    const parts =
      type === 'assessment' ? 'and not exists (select from import_parts p where p.assessment_id = c.id)' : ''
    await sql.unsafe(`
      delete from changed_${table} c
      where not exists (select from ${name} i where i.id = c.id and not i.deleted) ${parts}`)
  }
}

/** Rejects that are read at once: their texts may be long. */
const PAGE = 100

/** What was rejected, in the order of the source. */
export async function* readRejects(sql: TransactionSql): AsyncGenerator<StagedReject> {
  await sql`create index on import_texts (line)`
  await sql`create index on import_rejects (line)`
  let after = -1
  for (;;) {
    const rows = await sql<
      { line: string; reasons: { reason: string; other: number | null }[]; text: string | null }[]
    >`
      select r.line, r.reasons, t.text
      from (
        select line, json_agg(json_build_object('reason', reason, 'other', other_line) order by reason) as reasons
        from (select distinct line, reason, other_line from import_rejects where line > ${after}) as rejects
        group by line order by line limit ${PAGE}
      ) as r
      left join import_texts t on t.line = r.line
      order by r.line`
    for (const { line, reasons, text } of rows) {
      yield {
        line: Number(line),
        reasons: reasons.map(({ reason, other }) => ({ reason, otherLine: other ?? undefined })),
        text: text === null ? undefined : (JSON.parse(text) as string),
      }
    }
    const last = rows.at(-1)
    if (!last) return
    after = Number(last.line)
  }
}
