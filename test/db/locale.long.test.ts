import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import postgres from 'postgres'
import { type OwnCluster, startCluster } from '../support/cluster.ts'
import { list } from '../support/http.ts'
import { authorize, serveEmpty, type TestService } from '../support/service.ts'

/**
 * Names in the order of their lower-cased code points; names with equal keys are in the order of their ids.
 */
const ORDERED = [
  ...['100% Ana', '_x', 'ana', 'ANA', 'ecole', 'e\u0301cole', 'ilgaz', 'ILGAZ', 'i\u0307pek', 'İpek'],
  ...['\u212a', 'strasse', 'STRASSE', 'straße', 'Straße', 'STRAẞE', 'zoe', 'Zoe', 'zoë', 'Zoë', '~'],
  ...['åsa', 'Åsa', 'école', 'École', 'ÉCOLE', 'ö', 'Ö', 'øst', 'ılgaz', 'σίσυφος', 'ΣΊΣΥΦΟΣ'],
  ...['ирина', 'Ирина', 'ИРИНА', 'ёлка', 'Ёлка', '李', 'ａ', 'Ａ', '𐐨', '𐐀', '😀'],
]

/** A search text, and all names that the search finds. */
const FOUND: [string, string[]][] = [
  ['É', ['école', 'École', 'ÉCOLE']],
  ['écOLE', ['école', 'École', 'ÉCOLE']],
  ['ECOLE', ['ecole']],
  ['İ', ['i\u0307pek', 'İpek']],
  ['IPEK', []],
  ['ILGAZ', ['ilgaz', 'ILGAZ']],
  ['ılGAZ', ['ılgaz']],
  ['ẞ', ['straße', 'Straße', 'STRAẞE']],
  ['strasse', ['strasse', 'STRASSE']],
  ['ZOË', ['zoë', 'Zoë']],
  ['Ö', ['ö', 'Ö']],
  ['ÅS', ['åsa', 'Åsa']],
  ['Ø', ['øst']],
  ['ИРИН', ['ирина', 'Ирина', 'ИРИНА']],
  ['ЁЛКА', ['ёлка', 'Ёлка']],
  ['σίσυ', ['σίσυφος', 'ΣΊΣΥΦΟΣ']],
  ['ΣΊΣ', ['σίσυφος', 'ΣΊΣΥΦΟΣ']],
  ['ΦΟΣ', ['σίσυφος', 'ΣΊΣΥΦΟΣ']],
  ['\u212a', ['i\u0307pek', 'İpek', '\u212a']],
  ['Ａ', ['ａ', 'Ａ']],
  ['𐐀', ['𐐨', '𐐀']],
  ['%', ['100% Ana']],
  ['_', ['_x']],
]

// macOS does not always have C.UTF-8, and en_US may be missing on other systems.
const UNICODE_LOCALE = process.platform === 'darwin' ? 'en_US.UTF-8' : 'C.UTF-8'

// Turkish folds I to ı, Swedish sorts å and ö after z, and operating systems have their own tables. If an
// index followed other rules than the query, the index would find other rows than the table has.
const DATABASES = [
  ['a C server', 'C', ''],
  ['a Turkish database', 'C', `locale_provider icu icu_locale 'tr-TR'`],
  ['a Swedish database', 'C', `locale_provider icu icu_locale 'sv-SE'`],
  [`a ${UNICODE_LOCALE} server`, UNICODE_LOCALE, ''],
].flatMap(([title = '', locale = '', options = '']) =>
  [false, true].map(byIndex => ({
    title: byIndex ? `${title}, searching by index` : title,
    locale,
    options,
    byIndex,
  })),
)

const clusters = new Map<string, Promise<OwnCluster>>()
afterAll(async () => {
  for (const cluster of clusters.values()) await (await cluster).stop()
})

function clusterOf(locale: string): Promise<OwnCluster> {
  const known = clusters.get(locale) ?? startCluster({ locale })
  clusters.set(locale, known)
  return known
}

/** A service on a new database with this locale. */
async function start(
  { locale, options, byIndex }: (typeof DATABASES)[number],
  name: string,
): Promise<TestService> {
  const cluster = await clusterOf(locale)
  const maintenance = postgres(cluster.url(), { max: 1, onnotice: () => {} })
  await maintenance.unsafe(`create database ${name} template template0 ${options}`)
  for (const scan of byIndex ? ['seqscan', 'indexscan', 'indexonlyscan'] : []) {
    await maintenance.unsafe(`alter database ${name} set enable_${scan} = off`)
  }
  await maintenance.end()
  return await serveEmpty(cluster.url(name))
}

describe.each(DATABASES)('with a database of $title,', database => {
  let service: TestService
  let token: string
  beforeAll(async () => {
    service = await start(database, `axport_locale_${DATABASES.indexOf(database)}`)
    await service.sql`insert into organizations values (1, 'Lakeside')`
    // In reverse order, so that neither the order of insertion nor the order of ids is the expected one.
    await service.sql`
      insert into users (id, name, first_name)
      select 1000 - at, name, name from unnest(${[...ORDERED].reverse()}::text[]) with ordinality as given (name, at)`
    await service.sql`insert into products select id, name from users`
    const products = ORDERED.map((_, at) => 1000 - ORDERED.length + at)
    token = (await authorize(service, [1], products)).token
    await service.sql`insert into assessments select id, id, 1, id, '2024-06-15T12:00Z' from users`
    await service.sql`insert into assessment_parts select id, id, 1, null, null, id from users`
  })
  afterAll(() => service.close())

  const names = async (query: Record<string, string>) =>
    (await list(service.baseUrl, token, query)).data.map(record => record.name)

  test.each(['user_name', 'proctor_name', 'product_name'])(
    'the order by %s is the same as on every server',
    async sort => {
      expect(await names({ page: '100', sort })).toEqual(ORDERED)
      expect(await names({ page: '100', sort, order: 'DESC' })).toEqual(ORDERED.toReversed())
    },
  )

  test.each(FOUND)('the search for "%s" finds %j', async (needle, found) => {
    expect(await names({ 'filter[search]': needle, sort: 'user_name' })).toEqual(found)
  })
})
