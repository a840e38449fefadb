import { type SQL, sql } from 'drizzle-orm'
import { exportRecords as r } from '../../db/schema.ts'

/** The sets of a scope. A request can narrow either of them and never widen it (spec 4.2, rule 4). */
export const SCOPE_SETS = ['organizations', 'products'] as const
export type ScopeSet = (typeof SCOPE_SETS)[number]

/** The two sets, in a statement with scopeOf(). */
export const organizations = sql`(select organization_ids from scope)`
const products = sql`(select product_ids from scope)`

/** The common table expression `scope`: the sets that a token may read, narrowed by the request. */
export function scopeOf(narrowed: ScopeSet[]): SQL {
  const set = (name: ScopeSet, column: SQL) =>
    narrowed.includes(name)
      ? sql`array(select unnest(${column}) intersect select unnest(${sql.placeholder(name)}::bigint[]) order by 1)`
      : // A copy: it is decompressed once, and not for each record.
        sql`${column} || '{}'`
  return sql`scope as materialized (
  select ${set('organizations', sql`organization_ids`)} as organization_ids, ${set('products', sql`product_ids`)} as product_ids
  from token
)`
}

/** Whether there is anything to read: for an empty set Postgres would scan all records. */
export const isScopeFilled = sql`cardinality(${organizations}) > 0 and cardinality(${products}) > 0`

/** A binary search in a set, which is sorted. */
const isIn = (set: SQL, id: unknown) => sql`${set}[width_bucket(${id}, ${set})] = ${id}`

/**
 * Whether a record is in the scope. coalesce() makes the planner expect half of the records; for the two conditions it
 * would expect one in 40,000, and sort all records for a page. Products first: they are fewer to search.
 */
export const inScope = sql`coalesce(${isIn(products, r.productId)} and ${isIn(organizations, r.organizationId)}, false)`
export const inProducts = sql`coalesce(${isIn(products, r.productId)}, false)`
export const inOrganizations = sql`coalesce(${isIn(organizations, r.organizationId)}, false)`
