import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { exportPeople, exportRecords as r } from '../../db/schema.ts'
import type { Order, Sort } from '../contract.ts'
import { keyOf } from './columns.ts'
import { allOf, conditionsOf } from './conditions.ts'
import type { Run } from './page-arithmetic.ts'
import type { SetsInSql } from './scope.ts'
import { isNamed, productsNamed, searchOf } from './search.ts'
import type { Way } from './ways.ts'

/** The records of a list on one side of an entry: what the text depends on. */
export interface Beside {
  sort: Sort
  order: Order
  way: Way
  /** The names of the filters' conditions. */
  filters: string[]
  side: Run['side']
  /** Whether the entry is a cursor, with the placeholders `key` and `id`. Otherwise it is an end of the list. */
  hasCursor: boolean
}

/**
 * The select of the matching records beside the entry, the nearest first.
 * @param distance how many of them are skipped and read
 * @param reach a literal that is no less: so many are selected at most
 */
export function recordsBeside(beside: Beside, sets: SetsInSql, distance: SQL, reach: SQL): SQL {
  const { sort, order, way, filters, side } = beside
  const isAscending = (order === 'ASC') === (side === 'after')
  const [key, id] = [keyOf(sort), sql`${r.id}`]
  const ofProducts = sets.isIn(sets.products, r.productId)
  const ofOrganizations = sets.isIn(sets.organizations, r.organizationId)
  const near = (scope: SQL, limit: SQL, columns = sql``) => sql`
    select ${id} as id, ${key} as key${columns}
    from ${r}
    where ${allOf([scope, ...conditionsOf(filters), ...besideCursor(beside, key, id)])}
    order by ${inOrder(isAscending, key, id)} limit ${limit}`
  /** The nearest of each organization or product, and of these the first. */
  const nearestOfEach = (set: SQL, column: SQLWrapper, other: SQL) => sql`
    select nearest.id, nearest.key from unnest(${set}) as each (id)
    cross join lateral (${near(sql`${column} = each.id and ${expected(other)}`, distance)}
    ) as nearest
    order by ${inOrder(isAscending, sql`nearest.key`, sql`nearest.id`)} limit ${reach}`
  switch (way) {
    case 'organizations':
      return nearestOfEach(sets.organizations, r.organizationId, ofProducts)
    case 'products':
      return nearestOfEach(sets.products, r.productId, ofOrganizations)
    case 'picked':
      return sql`
    select id, key
    from (select * from (${picked(beside, sets)}) as found offset 0) as picked
    where ${allOf([sql`true`, ...besideCursor(beside, sql`key`, sql`id`)])}
    order by ${inOrder(isAscending)} limit ${reach}`
    default:
      return near(
        expected(allOf([ofProducts, ofOrganizations])),
        reach,
        way === 'whole' ? sql`, ${r.document}, ${r.userId}` : undefined,
      )
  }
}

/** The select of all records that match, by the index of a filter, of a search, or of the products. */
function picked({ sort, filters }: Beside, sets: SetsInSql): SQL {
  const search = searchOf(filters)
  const others = conditionsOf(filters.filter(name => name !== search))
  const inProducts = expected(sets.isIn(sets.products, r.productId))
  const inOrganizations = expected(sets.isIn(sets.organizations, r.organizationId))
  const select = sql`
      select ${r.id} as id, ${keyOf(sort)} as key
      from`
  /** The records of each row of `from`. In a join with all, the planner may expect many and read every record. */
  const ofEach = (from: SQL, found: SQL[]) => sql`${select} ${from}
      cross join lateral (
        select * from ${r} where ${allOf([...found, inOrganizations, ...others])} offset 0
      ) as ${r}`
  const ofProducts = (ids: SQL, scope: SQL[] = []) =>
    ofEach(sql`unnest(${ids}) as product (id)`, [sql`${r.productId} = product.id`, ...scope])
  if (!search && filters.length === 0) return ofProducts(sets.products)
  if (!search)
    return sql`${select} ${r}
      where ${allOf([inProducts, inOrganizations, ...others])}`
  const otherwise = sql`coalesce(${r.productId} not in (${productsNamed}), true)`
  const people = sql`(select * from ${exportPeople} where ${isNamed(search)}) as ${exportPeople}`
  return sql`${ofProducts(sql`array(${productsNamed})`, [inProducts])}
      union all${ofEach(people, [sql`${r.userId} = ${exportPeople.userId}`, otherwise, inProducts])}`
}

/** The planner expects half of the records, and no index of the columns. Otherwise it would expect few, and sort all. */
const expected = (condition: SQL) => sql`coalesce(${condition}, false)`

export const inOrder = (isAscending: boolean, key = sql`key`, id = sql`id`) =>
  isAscending ? sql`${key} asc, ${id} asc` : sql`${key} desc, ${id} desc`

/** The side of the cursor, if there is one. */
function besideCursor({ sort, order, side, hasCursor }: Beside, key: SQL, id: SQL): SQL[] {
  return hasCursor ? [isBeside(sort, order, side, key, id)] : []
}

/** The record of the cursor is before it. The planner does not look into sub-selects: one plan serves all values. */
export function isBeside(sort: Sort, order: Order, side: Run['side'], key: SQL, id: SQL): SQL {
  const operators = { ASC: { after: sql`>`, before: sql`<=` }, DESC: { after: sql`<`, before: sql`>=` } }
  const type = sort === 'certified_on' ? sql`date` : sql`text`
  const cursor = sql`((select ${sql.placeholder('key')}::${type}), (select ${sql.placeholder('id')}::bigint))`
  return sql`(${key}, ${id}) ${operators[order][side]} ${cursor}`
}
