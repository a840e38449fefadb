import { type SQL, sql } from 'drizzle-orm'
import { exportChanges as changes, disclosureState } from '../../db/schema.ts'
import { keyOf } from './columns.ts'
import { allOf, conditionsOf } from './conditions.ts'
import { areLogged, isLater, isLaterThanOlder } from './mark.ts'
import { type Beside, isBeside } from './records.ts'
import { SETS_OF_TOKEN } from './scope.ts'
import { searchOf, wasFound } from './search.ts'

/**
 * The select of one row: what has changed in a list of a `token` since the marks of its count and of the entry to a page.
 * - is_correctable: whether the sums say all that has. The token has the scope that it had, disclosures are recorded or not
 *   as they were, the log has the marks, and no row of it stands for any number of changes: in an organization of the
 *   scope, or in all where that is null.
 * - counted: how many more records match
 * - moved: how many of these come up to the entry
 *
 * The log has the columns of records, as they were then.
 */
export function changesSince({ sort, order, filters, side, hasCursor }: Beside, isRecorded: boolean): SQL {
  const { organizations, products, isIn } = SETS_OF_TOKEN
  const inProducts = isIn(products, changes.productId)
  const inOrganizations = isIn(organizations, changes.organizationId)
  const search = searchOf(filters)
  const others = filters.filter(name => name !== search)
  const matched = [...conditionsOf(others, changes), ...(search ? [wasFound] : [])]
  const sum = (condition: SQL) => sql`coalesce(sum(delta) filter (where ${condition}), 0)`
  const counted = sum(isLater('count'))
  const upToCursor = isBeside(sort, order, 'before', keyOf(sort, changes), sql`${changes.id}`)
  const upToEnd = side === 'before' ? counted : sql`0`
  return sql`
  select token.scope_digest = ${sql.placeholder('scope')}
      and (select is_on from ${disclosureState}) = ${isRecorded ? sql`true` : sql`false`}
      and ${areLogged(hasCursor)}
      and not coalesce(bool_or(delta is null), false) as is_correctable,
    ${counted} as counted,
    ${hasCursor ? sum(allOf([isLater('cursor'), upToCursor])) : upToEnd} as moved
  from ${changes}
  where ${isLaterThanOlder(hasCursor)} and case
    when delta is null then organization_id is null
      or coalesce(${inOrganizations}, false)
    when delta = 0 then false
    else coalesce(${allOf([inProducts, inOrganizations, ...matched])}, false) end`
}
