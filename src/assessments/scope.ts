import { type SQL, sql } from 'drizzle-orm'
import { exportRecords as r } from '../../db/schema.ts'

/** The sets of a scope. A request can narrow either of them and never widen it (spec 4.2, rule 4). */
export const SCOPE_SETS = ['organizations', 'products'] as const
export type ScopeSet = (typeof SCOPE_SETS)[number]

const organizations = sql`(select organization_ids from scope)`
const products = sql`(select product_ids from scope)`

/** The common table expression `scope`: the sets that a token may read, narrowed to what the request asks for. */
export function scopeOf(narrowed: ScopeSet[]): SQL {
  const set = (name: ScopeSet, column: SQL) =>
    narrowed.includes(name)
      ? sql`array(select unnest(${column}) intersect select unnest(${sql.placeholder(name)}::bigint[]) order by 1)`
      : // Unpacked once, and not for each record.
        sql`${column} || '{}'`
  return sql`scope as materialized (
  select ${set('organizations', sql`organization_ids`)} as organization_ids, ${set('products', sql`product_ids`)} as product_ids
  from token
)`
}

/** Whether there is anything to read: without, a scan of all records would look for it. */
export const isScopeFilled = sql`cardinality(${organizations}) > 0 and cardinality(${products}) > 0`

/** The organizations of the scope, as rows `organization (id)`. */
export const organizationsOfScope = sql`unnest(${organizations}) as organization (id)`

/** Membership in the organizations of the scope where few rows are of each, and an index of them finds these. */
export const ofOrganizations = sql`${r.organizationId} = any (${organizations}::bigint[])`

/** A binary search in a set, which ascends. */
const isOf = (set: SQL, id: SQL | typeof r.productId | typeof r.organizationId) =>
  sql`${set}[width_bucket(${id}, ${set})] = ${id}`

/**
 * Membership in the scope, in one coalesce(): to the planner that is true half of the time. Two conditions
 * would be true once in 40,000 times, and a page would seem to need all records, which can as well be sorted. Products first: they are fewer to search among.
 */
export const inScope = sql`coalesce(${isOf(products, r.productId)} and ${isOf(organizations, r.organizationId)}, false)`
export const inProducts = sql`coalesce(${isOf(products, r.productId)}, false)`
export const inOrganizations = sql`coalesce(${isOf(organizations, r.organizationId)}, false)`
