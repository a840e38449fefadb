import { parse } from 'csv-parse/sync'
import type { TransactionSql } from 'postgres'
import { placeOf, type SourceRecord, type Type } from '../record.ts'
import { readCells } from '../rows.ts'

/** Rows of a feed that were left out and wait (db/migrations/0011). Their places follow those of 2^39 fresh rows. */
const WAITING = 2 ** 39
const LINES = 2 ** 40

/** Whether rows of a feed wait. */
export async function isWaiting(sql: TransactionSql, feed: string): Promise<boolean> {
  return (await sql`select from feed_rejects where feed = ${feed} limit 1`).length > 0
}

/**
 * The waiting rows of a feed that no fresh row replaces: none has their id, and none is their assessment. All fresh rows
 * are staged before.
 * @param types the type of each file, in the order of the source
 */
export async function readWaiting(sql: TransactionSql, feed: string, types: Type[]): Promise<SourceRecord[]> {
  const rows = await sql<{ no: number; type: Type; columns: string[]; line: string }[]>`
    with fresh as (
      select 'organization' as type, id from import_organizations
      union all select 'product', id from import_products
      union all select 'user', id from import_users
      union all select 'assessment', id from import_assessments
      union all select 'part', id from import_assessment_parts
      union all select type, id from import_rejects where id is not null
    )
    select no::float8 as no, type, columns, line
    from feed_rejects w
    where feed = ${feed} and type = any (${types})
      and not exists (select from fresh where fresh.type = w.type and fresh.id = w.id)
      and not exists (select from fresh where fresh.type = 'assessment' and fresh.id = w.assessment_id)
    order by no`
  return rows.map(({ no, type, columns, line }) => {
    const text = JSON.parse(line) as string
    const [cells = []] = parse(text, { relax_column_count: true }) as string[][]
    return { place: placeOf(types.indexOf(type), WAITING + no), text, read: readCells(type, columns, cells) }
  })
}

/**
 * Deletes the waiting rows that are not among the rejects of this round, and keeps the other rejects.
 * @param columns those of each file, in the order of the source
 */
export async function keepWaiting(
  sql: TransactionSql,
  feed: string,
  types: Type[],
  columns: string[][],
): Promise<void> {
  await sql`
    delete from feed_rejects w
    where feed = ${feed}
      and not exists (select from import_rejects r where r.line % ${LINES} = ${WAITING} + w.no)`
  await sql`
    insert into feed_rejects (feed, type, id, assessment_id, user_id, columns, line)
    select ${feed}, f.type, r.id, r.assessment_id, r.user_id, array(select json_array_elements_text(f.columns)), t.text
    from (
      select line, max(id) as id, max(assessment_id) as assessment_id, max(user_id) as user_id
      from import_rejects where line % ${LINES} < ${WAITING} group by line
    ) r
    join import_texts t using (line)
    join (
      select type, columns, index - 1 as index
      from rows from (unnest(${types}::text[]), json_array_elements(${JSON.stringify(columns)}::text::json))
        with ordinality as files (type, columns, index)
    ) f on f.index = r.line / ${LINES}
    where coalesce(r.id, r.assessment_id) is not null
    order by line`
}
