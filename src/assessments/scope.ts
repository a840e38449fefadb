import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { type Filter, isBigint } from '../contract.ts'

/**
 * The scope of a token: a set of organizations and a set of products, as arrays of Postgres, in text. A request narrows them,
 * and never widens them (contract S2).
 */
export interface Sets {
  organizations: string
  products: string
}

/** The sets of a scope, narrowed by those filters of a request that name organizations and products. */
export function narrowed(sets: Sets, { organization_ids, product_ids }: Filter): Sets {
  return {
    organizations: common(sets.organizations, organization_ids),
    products: common(sets.products, product_ids),
  }
}

function common(set: string, ids: string[] | undefined): string {
  if (!ids) return set
  const own = new Set(set.slice(1, -1).split(','))
  return `{${[...new Set(ids)].filter(id => isBigint(id) && own.has(id))}}`
}

/** Two sets in a statement, as expressions of bigint[], and whether an id is in one of them. */
export interface SetsInSql {
  organizations: SQL
  products: SQL
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
