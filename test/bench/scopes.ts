import type { Sql } from 'postgres'
import type { Scope } from './world.ts'

/** The scope of the table: 400 of 500 organizations and 35 of 40 products, or as large a share of fewer. */
export async function broadScope(sql: Sql): Promise<Scope> {
  const organizations = await idsOf(sql, 'organizations')
  return { organizations: organizations.filter((_, at) => at % 5 !== 0), products: await mostProducts(sql) }
}

/** 35 of 40 products, or as large a share of fewer. */
export async function mostProducts(sql: Sql): Promise<string[]> {
  const products = await idsOf(sql, 'products')
  return products.slice(0, Math.ceil((products.length * 35) / 40))
}

/** Ids in their order, as decimal strings. */
export async function idsOf(sql: Sql, table: 'organizations' | 'products'): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`select id from ${sql(table)} order by id`
  return rows.map(row => row.id)
}

/** How many records an integration with this scope may read, and the bytes of their documents. */
export async function sizeOf(sql: Sql, { organizations, products }: Scope) {
  const [row] = await sql<{ count: number; bytes: number }[]>`
    select count(*)::float8 as count, coalesce(sum(octet_length(document)), 0)::float8 as bytes
    from export_records
    where organization_id = any (${organizations}::bigint[]) and product_id = any (${products}::bigint[])`
  return row as { count: number; bytes: number }
}

/**
 * The condition that a record, or a row with the same two columns, is in a scope: ids as constants, in one box, which
 * the planner takes for true half of the time. It would sort the table for less.
 */
export function inScope({ organizations, products }: Scope): string {
  return `coalesce(organization_id = any ('{${organizations}}') and product_id = any ('{${products}}'), false)`
}

/** An offset at which a page of a walk begins. */
export const hundreds = (offset: number) => Math.floor(offset / 100) * 100
