import { afterAll, beforeAll } from 'bun:test'
import type { Sql } from 'postgres'
import { use } from '../../support/hooks.ts'
import { migratedDatabase, openTestDatabase, type TestDatabase } from '../../support/service.ts'
import { Explainer } from './explain.ts'

/** The numbers of records, organizations and products that `fillReadModel` makes. */
export const RECORDS = 100_000
export const ORGANIZATIONS = 500
export const PRODUCTS = 40

/** The ids of 35 of the 40 products. */
export const PRODUCTS_35 = Array.from({ length: 35 }, (_, n) => n + 1)

/** A database large enough for realistic plans. On few rows, every plan is cheap. */
export interface ManyRecords {
  database: TestDatabase
  explainer: Explainer
  /** The organizations with their numbers of records, the largest first. */
  organizations: { id: number; records: number }[]
}

/** The database for the tests of a file that explain plans: a copy of a template that `fill` fills once per process. */
export function useManyRecords(
  template = 'many records',
  fill: (sql: Sql) => Promise<unknown> = fillReadModel,
): ManyRecords {
  const database = use(() => openTestDatabase(() => migratedDatabase(template, fill)))
  const many = { database } as ManyRecords
  beforeAll(async () => {
    const { sql, url } = database
    many.explainer = Explainer.create(url)
    many.organizations = await sql<{ id: number; records: number }[]>`
      select organization_id::integer as id, count(*)::integer as records from export_records group by 1 order by 2 desc, 1`
  })
  afterAll(() => many.explainer?.end())
  return many
}

/**
 * A scope of these organizations and 35 of 40 products, the number of its records, and of all records of the
 * organizations.
 */
export async function scopeOf({ database }: ManyRecords, organizations: ManyRecords['organizations']) {
  const scope = { organizations: organizations.map(row => row.id), products: PRODUCTS_35 }
  const [row] = await database.sql<{ count: number }[]>`
    select count(*)::integer as count from export_records
    where organization_id = any (${scope.organizations}::bigint[]) and product_id = any (${PRODUCTS_35}::bigint[])`
  const all = organizations.reduce((sum, row) => sum + row.records, 0)
  return { scope, records: row?.count ?? 0, all }
}

/** Fills the read model itself, vacuumed and analyzed. Plans of pages depend on no other table. */
async function fillReadModel(sql: Sql): Promise<void> {
  // The organizations differ in size as districts do.
  await sql.unsafe(`
    insert into export_records
    select n, organization, 1 + hash % 40, 1 + n / 3, 'S-' || n / 3,
      hash / 40 % 16 = 0, hash / 40 % 10 = 0, array[1 + hash % 300],
      date '2015-01-01' + (n * 4000::bigint / ${RECORDS})::integer, 'user ' || md5((n / 3)::text), 'proctor ' || md5((hash % 300)::text),
      'product ' || hash % 40, repeat('{"id":' || n || '}', 40)
    from (
      select n, abs(hashint4(n)) / 7 as hash,
        1 + floor(${ORGANIZATIONS} * power((abs(hashint4(n)) % 99991) / 99991.0, 2))::integer as organization
      from generate_series(1, ${RECORDS}) n
    ) as drawn`)
  await sql.unsafe(`
    insert into export_people
    select 1 + n, md5(n::text) || E'\\n' || md5((-n)::text) || E'\\n' from generate_series(0, ${RECORDS} / 3) n;
    insert into export_products select 1 + n, 'product ' || n from generate_series(0, 39) n`)
  // Without freezing, VACUUM leaves out the pages that a checkpoint writes at the moment.
  await sql.unsafe('vacuum (freeze, analyze) export_records, export_people, export_counts')
}
