import { type SQL, sql } from 'drizzle-orm'
import { exportChanges as changes } from '../../db/schema.ts'
import { allOf, conditionsOf, isInRead, keyOf, searchOf, wasFound } from './conditions.ts'
import { isLater, isLaterThanOlder } from './mark.ts'
import { type Beside, isBeside } from './records.ts'

/**
 * The select of one row: what has changed in a list since the marks of its count and of the entry to a page.
 * - is_summary: a row stands for any number of changes of the list, in its organization, or in all where that is null
 * - counted: how many more records match
 * - moved: how many of these come up to the entry
 *
 * The log has the columns of records, as they were then. The sets are the columns of a `token` beside it.
 */
export function changesSince({ sort, order, filters, side, hasCursor }: Beside): SQL {
  const search = searchOf(filters)
  const matched = conditionsOf(
    filters.filter(name => name !== search),
    changes,
  )
  if (search) matched.push(wasFound)
  const inProducts = isInRead(sql`products`, changes.productId)
  const inOrganizations = isInRead(sql`organizations`, changes.organizationId)
  const sum = (condition: SQL) => sql`coalesce(sum(delta) filter (where ${condition}), 0)`
  const counted = sum(isLater('count'))
  const upToCursor = isBeside(sort, order, 'before', keyOf(sort, changes), sql`${changes.id}`)
  const upToEnd = side === 'before' ? counted : sql`0`
  return sql`
    select coalesce(bool_or(delta is null), false) as is_summary, ${counted} as counted,
      ${hasCursor ? sum(sql`${isLater('cursor')} and ${upToCursor}`) : upToEnd} as moved
    from ${changes}
    where ${isLaterThanOlder(hasCursor)} and case
      when delta is null then organization_id is null or coalesce(${inOrganizations}, false)
      when delta = 0 then false
      else coalesce(${allOf([inProducts, inOrganizations, ...matched])}, false) end`
}
