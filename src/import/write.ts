import type { TransactionSql } from 'postgres'
import { startBulkLoad } from './bulk.ts'
import type { Summary } from './changes.ts'
import { listColumns } from './fields.ts'
import { TABLE_OF, type Type } from './source-rows.ts'

/** Assessments of one batch: the cost of its statements is small beside it, and transition tables stay in memory. */
const BATCH = 20_000

/** Progress in changed assessments, in records of a first load, or the building of indexes that were put off. */
export type WriteProgress =
  | { phase: 'loading' | 'rendering'; done: number; total: number }
  | { phase: 'indexing' }

/** Ids past the first, up to the last. */
const ALL: [after: string, last: string] = ['-9223372036854775808', '9223372036854775807']

/** Writes the staged rows that differ into the source tables. */
export async function writeChanges(
  sql: TransactionSql,
  summary: Summary,
  onProgress: (progress: WriteProgress) => void,
): Promise<void> {
  const { inserted = 0, updated = 0 } = summary.assessments ?? {}
  const total = inserted + updated
  const bulkLoad = await startBulkLoad(sql, total)
  await upsert(sql, 'organization', false)
  await upsert(sql, 'product', false)
  await upsert(sql, 'user', bulkLoad.isEmpty('users'))
  await deleteAssessments(sql)
  await applyAssessments(sql, bulkLoad.isEmpty('assessments'), total, onProgress)
  if (bulkLoad.hasPutOff) onProgress({ phase: 'indexing' })
  await bulkLoad.finish((done, total) =>
    onProgress(done < total ? { phase: 'rendering', done, total } : { phase: 'indexing' }),
  )
  // Last, when nothing refers to them any more.
  for (const table of ['users', 'products', 'organizations'])
    await sql`delete from ${sql(table)} where id in (select id from ${sql(`import_${table}`)} where deleted)`
}

/**
 * Writes the changed rows of a type, or of a range of assessments. A table that `isEmpty` gets all staged rows, and may
 * have no key.
 */
async function upsert(sql: TransactionSql, type: Type, isEmpty: boolean, range = ALL): Promise<void> {
  const table = TABLE_OF[type]
  const [changed, key] = type === 'part' ? [TABLE_OF.assessment, 'assessment_id'] : [table, 'id']
  const columns = listColumns(type)
  if (isEmpty)
    return void (await sql.unsafe(
      `insert into ${table} (id, ${columns}) select id, ${columns} from import_${table} where deleted is not true`,
    ))
  const conflict = `on conflict (id) do update set (${columns}) = row(${listColumns(type, 'excluded.')})
    where (t.*) is distinct from (excluded.*)`
  await sql.unsafe(
    `insert into ${table} as t (id, ${columns})
     select i.id, ${listColumns(type, 'i.')} from changed_${changed} c join import_${table} i on i.${key} = c.id
     where c.id > $1 and c.id <= $2 and i.${key} > $1 and i.${key} <= $2
     ${conflict}`,
    range,
  )
}

/** Deletes assessments, and the parts that others no longer have. */
async function deleteAssessments(sql: TransactionSql): Promise<void> {
  // Before their assessments: a cascade would delete the parts of one assessment at a time.
  await sql`
    delete from assessment_parts where assessment_id in (select id from import_assessments where deleted)`
  await sql`delete from assessments where id in (select id from import_assessments where deleted)`
  // Before any batch, which may give their ids to other assessments.
  await sql`
    delete from assessment_parts t
    using changed_assessments c
    where not c.is_new and t.assessment_id = c.id
      and exists (select from import_assessment_parts p where p.assessment_id = c.id)
      and not exists (select from import_assessment_parts p where p.id = t.id and p.assessment_id = c.id)`
}

/** Writes assessments in batches, after their parts: a new one is then rendered once, when the assessment arrives. */
async function applyAssessments(
  sql: TransactionSql,
  isEmpty: boolean,
  total: number,
  onProgress: (progress: WriteProgress) => void,
): Promise<void> {
  const applyBatch = async (range = ALL) => {
    await upsert(sql, 'part', isEmpty, range)
    await upsert(sql, 'assessment', isEmpty, range)
  }
  onProgress({ phase: 'loading', done: 0, total })
  if (isEmpty) return await applyBatch()
  let after = '0'
  for (let done = 0; done < total; ) {
    const [batch] = await sql<{ last: string; count: string }[]>`
      select max(id) as last, count(*) as count
      from (select id from changed_assessments where id > ${after} order by id limit ${BATCH}) as batch`
    if (!batch?.last) break
    await applyBatch([after, batch.last])
    after = batch.last
    done += Number(batch.count)
    onProgress({ phase: 'loading', done, total })
  }
}
