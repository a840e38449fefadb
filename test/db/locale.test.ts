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
