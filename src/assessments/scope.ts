import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'

/** The scope of a token: a set of organizations and a set of products. A request narrows them, and never widens them (contract S2). */

export const SCOPE_SETS = ['organizations', 'products'] as const
export type ScopeSet = (typeof SCOPE_SETS)[number]

/** The two sets that a request reads: those of its scope, narrowed by its filters. Each is an array of Postgres, as text. */
export type Sets = Record<ScopeSet, string>

/** The two sets in a statement, as expressions of bigint[], and whether an id is in one of them. */
export interface SetsInSql extends Record<ScopeSet, SQL> {
  isIn(set: SQL, id: SQLWrapper): SQL
}

/** The sets of the `token` in a statement. They are ascending, so that a binary search finds an id. */
export const SETS_OF_TOKEN: SetsInSql = {
  organizations: sql`token.organizations`,
  products: sql`token.products`,
  isIn: (set, id) => sql`${set}[width_bucket(${id}, ${set})] = ${id}`,
}

/** The sets as the placeholders `organizations` and `products`: when Postgres plans for values, it makes a hash table of each. */
export const GIVEN_SETS: SetsInSql = {
  organizations: sql`${sql.placeholder('organizations')}::bigint[]`,
  products: sql`${sql.placeholder('products')}::bigint[]`,
  isIn: (set, id) => sql`${id} = any (${set})`,
}

/** Whether the `organization_id` and the `product_id` of a row are in the given sets. */
export const ofOrganizations = GIVEN_SETS.isIn(GIVEN_SETS.organizations, sql`organization_id`)
export const ofProducts = GIVEN_SETS.isIn(GIVEN_SETS.products, sql`product_id`)

/**
 * The select of a live token, one row at most: its integration, its scope, and the two sets that are read, which the
 * request may have narrowed.
 */
export function liveToken(narrowed: ScopeSet[]): SQL {
  const set = (name: ScopeSet, column: SQL) =>
    narrowed.includes(name)
      ? sql`array(select unnest(${column}) intersect select unnest(${GIVEN_SETS[name]}) order by 1)`
      : // A copy: it is decompressed once, and not for each record.
        sql`${column} || '{}'`
  return sql`select client_id, scope_digest, organization_ids, product_ids,
    ${set('organizations', sql`organization_ids`)} as organizations, ${set('products', sql`product_ids`)} as products
  from live_tokens where digest = ${sql.placeholder('token')}::bytea`
}
