// test/db/locale.long.test.ts has more names and locales, and searches by an index.
import { expect, test } from 'bun:test'
import { emptyDatabase } from '../support/cluster.ts'
import { use } from '../support/hooks.ts'
import { list } from '../support/http.ts'
import { authorize, serveEmpty } from '../support/service.ts'

/** By their lower-cased code points. In Turkish, é comes before z, and I is lower-cased to ı. */
const ORDERED = ['_x', 'Ana', 'ILGAZ', 'zoe', 'École', 'ısı']

const service = use(async () => {
  const { url, drop } = await emptyDatabase("locale_provider icu icu_locale 'tr-TR'")
  const { close, ...served } = await serveEmpty(url)
  const closeAndDrop = async () => {
    await close()
    await drop()
  }
  return { ...served, close: closeAndDrop }
})

test('in a Turkish database lists are sorted and searched as in any other', async () => {
  const { sql } = service
  await sql`insert into organizations values (1, 'Lakeside')`
  await sql`
    insert into users (id, name, first_name)
    select 100 - at, name, name from unnest(${ORDERED}::text[]) with ordinality as given (name, at)`
  await sql`insert into products select id, name from users`
  await sql`insert into assessments select id, id, 1, id, '2024-06-15T12:00Z' from users`
  await sql`insert into assessment_parts select id, id, 1, null, null, id from users`
  const { token } = await authorize(
    service,
    [1],
    ORDERED.map((_, at) => 99 - at),
  )
  const names = async (query: Record<string, string>) =>
    (await list(service.baseUrl, token, query)).data.map(({ name }) => name)
  for (const sort of ['user_name', 'proctor_name', 'product_name']) {
    expect(await names({ sort })).toEqual(ORDERED)
    expect(await names({ sort, order: 'DESC' })).toEqual(ORDERED.toReversed())
  }
  expect(await names({ 'filter[search]': 'ilgaz' })).toEqual(['ILGAZ'])
})

test('seids are found by their index after the database got another order of texts', async () => {
  const { sql, url, baseUrl } = service
  const name = new URL(url).pathname.slice(1)
  await sql.unsafe(`alter database ${name} set enable_seqscan = off`)
  const seids = Array.from({ length: 100 }, (_, at) => String(at))
  await sql`insert into organizations values (2, 'Hillside')`
  await sql`insert into products values (2, 'Reading')`
  await sql`insert into users (id, name, seid) select 1000 + seid::integer, 'Bo', seid from unnest(${seids}::text[]) as seid`
  await sql`insert into assessments select id, id, 2, 2, '2024-06-15T12:00Z' from users where id >= 1000`
  await sql`insert into assessment_parts select id, id, 1, null, null, id from users where id >= 1000`
  const { token } = await authorize(service, [2], [2])
  await orderNumerically(name)
  const found: (string | null | undefined)[] = []
  for (const seid of seids) found.push((await list(baseUrl, token, `filter[seids][]=${seid}`)).data[0]?.seid)
  expect(found).toEqual(seids)
})

/** Another order than the indexes of a database were built in, as a new release of an operating system may bring. */
async function orderNumerically(name: string): Promise<void> {
  const { sql } = service
  const [column] = await sql<{ name: string }[]>`
    select attname as name from pg_attribute
    where attrelid = 'pg_database'::regclass and attname in ('datlocale', 'daticulocale')`
  await sql.unsafe(`update pg_database set ${column?.name} = 'en-u-kn-true' where datname = '${name}'`)
  await sql`
    select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = ${name} and pid <> pg_backend_pid()`
}

test('every text in an index is compared by code point', async () => {
  const rows = await service.sql<{ name: string; collation: string }[]>`
    select distinct indexrelid::regclass::text as name, collname as collation
    from pg_index join pg_class c on c.oid = indexrelid, unnest(indcollation) as key join pg_collation o on o.oid = key
    where c.relnamespace = 'public'::regnamespace order by 1`
  expect(rows.filter(({ collation }) => collation !== 'C')).toEqual([])
  expect(rows.map(({ name }) => name)).toContain('export_records_seid')
})
