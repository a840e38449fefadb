import type { Sql } from 'postgres'

/** The ids of the organizations and products that an integration may read. */
export interface Scope {
  organizations: string[]
  products: string[]
}

/** The scope of most measures: 400 of 500 organizations and 35 of 40 products, or the same shares of other numbers. */
export async function broadScope(sql: Sql): Promise<Scope> {
  const organizations = await idsOf(sql, 'organizations')
  return { organizations: organizations.filter((_, at) => at % 5 !== 0), products: await mostProducts(sql) }
}

/** Organizations of middle size with together some `size` records, and most products. */
export async function smallScope(sql: Sql, size: number): Promise<Scope> {
  const organizations: string[] = []
  let missing = size
  for (const { id, count } of await fromMiddle(sql)) {
    if (missing <= 0) break
    organizations.push(id)
    missing -= count
  }
  return { organizations, products: await mostProducts(sql) }
}

/** Three organizations of middle size that are in the broad scope. */
export async function usualOrganizations(sql: Sql): Promise<string[]> {
  const { organizations } = await broadScope(sql)
  const ids = (await fromMiddle(sql)).map(({ id }) => id)
  return ids.filter(id => organizations.includes(id)).slice(0, 3)
}

/** The product that is in the broad scope and nearest to 1.5 % of all records. */
export async function usualProduct(sql: Sql): Promise<string> {
  const [row] = await sql<{ id: string }[]>`
    select product_id as id from export_records where product_id = any (${await mostProducts(sql)}::bigint[])
    group by 1 order by abs(count(*) - 0.015 * (select count(*) from export_records)), 1 limit 1`
  return row?.id ?? ''
}

/** The organizations that have records of most products, the largest first, from the middle on. */
async function fromMiddle(sql: Sql): Promise<{ id: string; count: number }[]> {
  const rows = await sql<{ id: string; count: number }[]>`
    select organization_id as id, count(*)::float8 as count from export_records
    where product_id = any (${await mostProducts(sql)}::bigint[]) group by 1 order by count(*) desc, 1`
  return rows.slice(Math.floor(rows.length / 2))
}

/** Different scopes that are nearly as broad: each lacks another product. */
export function variantsOf(scope: Scope, count: number): Scope[] {
  return scope.products
    .slice(0, count)
    .map(product => ({ ...scope, products: scope.products.filter(id => id !== product) }))
}

/** A scope for warm-up: nearly the same, so that page memory has nothing about the measured one. */
export const besides = (scope: Scope): Scope => ({ ...scope, products: scope.products.slice(1) })

/** The id of the first record in a scope. */
export async function firstIdIn(sql: Sql, scope: Scope): Promise<string> {
  const [row] = await sql.unsafe<{ id: string }[]>(
    `select id from export_records where ${inScope(scope)} order by id limit 1`,
  )
  return row?.id ?? ''
}

/** 35 of 40 products, or the same share of another number. */
async function mostProducts(sql: Sql): Promise<string[]> {
  const products = await idsOf(sql, 'products')
  return products.slice(0, Math.ceil((products.length * 35) / 40))
}

/** All ids of a table in ascending order, as decimal strings. */
async function idsOf(sql: Sql, table: 'organizations' | 'products'): Promise<string[]> {
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

/** The condition that a record is in a scope. The ids are constants. */
export function inScope({ organizations, products }: Scope): string {
  return `organization_id = any ('{${organizations}}') and product_id = any ('{${products}}')`
}

/** The largest offset up to `offset` at which a page of a walk begins. */
export const hundreds = (offset: number) => Math.floor(offset / 100) * 100
