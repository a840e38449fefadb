import { openTestDatabase, type TestDatabase } from '../support/service.ts'

/** How many records there are, of how many organizations. */
export const RECORDS = 60_000
export const ORGANIZATIONS = 500

/** 35 of the 40 products. */
export const PRODUCTS_35 = Array.from({ length: 35 }, (_, n) => String(n + 1))

/** A database on which a plan shows whether it is a good one: on a few rows every plan is. */
export interface ManyRecords extends TestDatabase {
  /** Ids with their records, the largest first. */
  organizations: { id: string; records: number }[]
}

/** Opens it, vacuumed and analyzed. Straight into the read model: the plans depend on nothing else. */
export async function openManyRecords(): Promise<ManyRecords> {
  const db = await openTestDatabase('postgres')
  // Sizes differ as districts' do.
  await db.sql.unsafe(`
    insert into export_records
    select n, organization, 1 + hash % 40, 1 + n / 3, 'S-' || n / 3,
      case hash % 16 when 0 then 'archived' else 'active' end, hash % 10 = 0, array[1 + hash % 300],
      date '2015-01-01' + (n * 4000::bigint / ${RECORDS})::integer, 'user ' || md5((n / 3)::text), 'proctor ' || md5((hash % 300)::text),
      'product ' || hash % 40, md5((n / 3)::text) || E'\\n' || md5(n::text) || E'\\n' || 'product ' || hash % 40,
      repeat('{"id":' || n || '}', 40)
    from (
      select n, abs(hashint4(n)) / 7 as hash,
        1 + floor(${ORGANIZATIONS} * power((abs(hashint4(n)) % 99991) / 99991.0, 2))::integer as organization
      from generate_series(1, ${RECORDS}) n
    ) as drawn`)
  await db.sql.unsafe('vacuum (analyze) export_records')
  const organizations = [
    ...(await db.sql<{ id: string; records: number }[]>`
      select organization_id as id, count(*)::integer as records from export_records group by 1 order by 2 desc, 1`),
  ]
  return { ...db, organizations }
}
