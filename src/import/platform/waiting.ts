import { parse } from 'csv-parse/sync'
import type { TransactionSql } from 'postgres'
import { LINES, placeOf, type SourceRecord, type Type } from '../record.ts'
import { readCells } from '../rows.ts'

/** Rows of a feed that were left out and wait (db/migrations/0010). Their places follow those of 2^39 fresh rows. */
const WAITING = 2 ** 39

/** Whether rows of a feed wait. */
export async function isWaiting(sql: TransactionSql, feed: string): Promise<boolean> {
  return (await sql`select from feed_rejects where feed = ${feed} limit 1`).length > 0
}

/**
 * The waiting rows of a feed that no fresh row replaces. All fresh rows are staged before. A fresh row replaces the waiting
 * rows with its type and id. A fresh assessment replaces its waiting parts, too: a feed gives all parts of an assessment.
 * So does a fresh part, if assessments are not given, and for a waiting part whose id could not be read.
 * @param types the type of each file, in the order of the source
 */
export async function readWaiting(sql: TransactionSql, feed: string, types: Type[]): Promise<SourceRecord[]> {
  const givesAssessments = types.includes('assessment')
  // One sort by key, whatever the planner expects of tables without statistics. A fresh key has no number.
  const rows = await sql<{ no: number; type: Type; columns: string[]; line: string }[]>`
    with waiting as materialized (select * from feed_rejects where feed = ${feed} and type = any (${types})),
    keys (no, key, id) as (
      select null::bigint, 'organization', id from import_organizations
      union all select null, 'product', id from import_products
      union all select null, 'user', id from import_users
      union all select null, 'assessment', id from import_assessments
      union all select null, 'part', id from import_assessment_parts
      union all select null, 'part of', assessment_id from import_assessment_parts
      union all select null, type, id from import_rejects
      union all select null, 'part of', assessment_id from import_rejects where type is distinct from 'assessment'
      union all select no, type, id from waiting
      union all select no, 'assessment', assessment_id from waiting
      union all
      select no, 'part of', assessment_id from waiting where type = 'part' and (id is null or not ${givesAssessments})
    ),
    compared as (
      select no, bool_or(no is null) over (partition by key, id) as is_replaced from keys where id is not null
    )
    select no::float8 as no, type, columns, line
    from waiting
    where no in (select no from compared where no is not null group by no having not bool_or(is_replaced))
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
    delete from feed_rejects
    where no in (
      select no from feed_rejects where feed = ${feed}
      except
      select line % ${LINES} - ${WAITING} from import_rejects
    )`
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
