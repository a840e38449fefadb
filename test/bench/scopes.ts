import type { Sql } from 'postgres'
import type { Scope } from './world.ts'

/** The scope of most measures: 400 of 500 organizations and 35 of 40 products, or the same shares of other numbers. */
export async function broadScope(sql: Sql): Promise<Scope> {
  const organizations = await idsOf(sql, 'organizations')
  return { organizations: organizations.filter((_, at) => at % 5 !== 0), products: await mostProducts(sql) }
}

/** 35 of 40 products, or the same share of another number. */
export async function mostProducts(sql: Sql): Promise<string[]> {
  const products = await idsOf(sql, 'products')
  return products.slice(0, Math.ceil((products.length * 35) / 40))
}

/** All ids of a table in ascending order, as decimal strings. */
export async function idsOf(sql: Sql, table: 'organizations' | 'products'): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`select id from ${sql(table)} order by id`
  return rows.map(row => row.id)
}

/** The number of records in a scope, and the bytes of their documents. */
export async function sizeOf(sql: Sql, { organizations, products }: Scope) {
  const [row] = await sql<{ count: number; bytes: number }[]>`
    select count(*)::float8 as count, coalesce(sum(octet_length(document)), 0)::float8 as bytes
    from export_records
    where organization_id = any (${organizations}::bigint[]) and product_id = any (${products}::bigint[])`
  return row as { count: number; bytes: number }
}

/**
 * The condition that a record, or a row with the same two columns, is in a scope. The ids are constants. The condition
 * is a boolean expression for which the planner assumes a selectivity of one half: with a smaller estimate it would
 * sort the table.
 */
export function inScope({ organizations, products }: Scope): string {
  return `coalesce(organization_id = any ('{${organizations}}') and product_id = any ('{${products}}'), false)`
}

/** The largest offset up to `offset` at which a page of a walk begins. */
export const hundreds = (offset: number) => Math.floor(offset / 100) * 100
