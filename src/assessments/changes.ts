import { type SQL, sql } from 'drizzle-orm'
import { exportChanges as changes } from '../../db/schema.ts'
import type { ListQuery } from '../contract.ts'
import { type RawRow, type Runner, rawStatement, rowOf, text } from '../postgres/statement.ts'
import {
  allOf,
  type Constraints,
  conditionsOf,
  inOrganizations,
  inScope,
  keyOf,
  searchOf,
  tokenOf,
  wasFound,
} from './conditions.ts'
import type { Entry } from './cursor.ts'
import { areLogged, isLater, isLaterThanOlder, type Mark, markValues } from './mark.ts'
import type { Changes } from './page-plan.ts'
import { isBeside } from './records.ts'

/** What the log of changes says of a remembered count of this mark, and of the entry if that is a cursor. */
export async function readChanges(
  db: Runner,
  token: Uint8Array,
  query: ListQuery,
  constrained: Constraints,
  { mark, entry }: { mark: Mark; entry: Entry },
): Promise<Changes> {
  const cursor = typeof entry === 'object' ? entry : undefined
  const read = rawStatement(changesSql(query, constrained, cursor !== undefined), false)
  const [row] = await read(db, {
    token,
    ...constrained.values,
    ...markValues(mark, cursor?.mark),
    key: cursor?.key,
    id: cursor?.id,
  })
  const { isLogged, isSummary, counted, moved } = COLUMNS.read(row as RawRow)
  return {
    isLogged: text(isLogged) === 't',
    isSummary: text(isSummary) === 't',
    counted: Number(text(counted)),
    moved: Number(text(moved)),
  }
}

const COLUMNS = rowOf({
  isLogged: sql`is_logged`,
  isSummary: sql`coalesce(bool_or(is_summary), false)`,
  counted: sql`coalesce(sum(delta) filter (where is_counted), 0)`,
  moved: sql`coalesce(sum(delta) filter (where is_moved), 0)`,
})

/**
 * The sums of the changes since the marks. The log has the columns of records, as they were then. A row without a delta
 * stands for any number of changes in its organization, or in all where that is null.
 */
function changesSql({ sort, order }: ListQuery, { filters, narrowed }: Constraints, hasCursor: boolean): SQL {
  const search = searchOf(filters)
  const matched = conditionsOf(
    filters.filter(name => name !== search),
    changes,
  )
  if (search) matched.push(wasFound)
  const isBefore = isBeside(sort, order, 'before', keyOf(sort, changes), sql`${changes.id}`)
  // The upper bound changes nothing, but without it the planner expects a third of the log.
  return sql`
with token as materialized (
  ${tokenOf(narrowed)}
), marks as materialized (
  select ${areLogged(hasCursor)} as is_logged
)
select ${COLUMNS.list}
from marks left join (
  select delta, delta is null as is_summary, ${isLater('count')} as is_counted,
    ${hasCursor ? sql`${isLater('cursor')} and ${isBefore}` : sql`false`} as is_moved
  from ${changes}
  where ${isLaterThanOlder(hasCursor)} and position <= (select max(position) from ${changes})
    and case when delta is null then organization_id is null or ${inOrganizations(changes)}
      else ${allOf([inScope(changes), ...matched])} end
) as changed on true
group by is_logged`
}
