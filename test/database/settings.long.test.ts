import { expect, setDefaultTimeout, test } from 'bun:test'
import pino from 'pino'
import { openDatabase } from '../../src/database/database.ts'
import { describeError } from '../../src/database/describe-error.ts'
import { cluster } from '../support/cluster.ts'
import { record, recorded } from '../support/disclosures.ts'
import { assessment, educator, multiPart, ORGANIZATION, PRODUCT, range, world } from '../support/fixtures.ts'
import { get, LIST, list, successful } from '../support/http.ts'
import { authorize, listen, load, migratedDatabase } from '../support/service.ts'
import { withConnection } from '../support/with-connection.ts'

setDefaultTimeout(900_000)

/** A value that a user, or with session_replication_role a superuser, can set for a database. */
interface Setting {
  name: string
  value: string
}

/** Every parameter of the server that is a boolean or an enum and that users set, with each of its other values. */
async function otherSettings(): Promise<Setting[]> {
  return await withConnection(
    (await cluster()).url(),
    async sql =>
      await sql<Setting[]>`
      select name, value
      from pg_settings cross join unnest(coalesce(enumvals, '{on,off}')) as value
      where vartype in ('bool', 'enum') and (context = 'user' or name = 'session_replication_role')
        and value <> setting
        -- They are of a transaction, and no session begins with them.
        and name not in ('transaction_deferrable', 'transaction_isolation', 'transaction_read_only')
      order by name, value`,
  )
}

/** The lines of a first load, and of one into its tables. */
const FIRST = [
  ...world(),
  educator(502, { seid: null, name: 'Zoë "Z" Null', last_name: null, email: null }),
  ...range(60, n =>
    assessment(100 + n, { user_id: 501 + (n % 2), certified_at: `2026-0${1 + (n % 9)}-05T12:00:00Z` }),
  ),
  multiPart(200, [901, 902]),
]
const SECOND = [
  educator(501, { name: 'Ana Luz', first_name: 'Ana', last_name: 'Luz', seid: null }),
  assessment(300, { certified_at: '2026-07-04T23:59:59.999999Z' }),
]

/** Everything that a new database with these settings shows and records, after loads. */
async function story(settings: Setting[]): Promise<unknown> {
  const { url, drop } = await migratedDatabase()
  const name = new URL(url).pathname.slice(1)
  const plain = await openDatabase(url, 1)
  await plain.sql`select 1`
  for (const setting of settings)
    await plain.sql.unsafe(`alter database ${name} set ${setting.name} = '${setting.value}'`)
  const database = await openDatabase(url, 3)
  const log: string[] = []
  const { url: baseUrl, stop } = listen(database, pino({}, { write: line => void log.push(line) }))
  try {
    await load(database.sql, FIRST)
    await record(plain.sql)
    const { token } = await authorize(
      { ...database, url, baseUrl, logged: () => '' },
      [ORGANIZATION],
      [PRODUCT],
    )
    const pages = []
    for (const query of QUERIES) pages.push(await list(baseUrl, token, query))
    await load(database.sql, SECOND)
    for (const query of QUERIES) pages.push(await list(baseUrl, token, query))
    pages.push(successful(await get(baseUrl, token, `${LIST}/200`)))
    const disclosed = (await recorded(plain.sql)).map(each => ({ ...each, client_id: '', request_id: '' }))
    return { pages, disclosed }
  } catch (error) {
    throw new Error(`${describeError(error)} ${log.filter(line => !line.includes('"status":200')).join(' ')}`)
  } finally {
    await stop()
    await database.close()
    await plain.close()
    await drop()
  }
}

const QUERIES = [
  ...[0, 20, 40, 60].map(offset => `page=20&offset=${offset}`),
  ...[0, 20, 40, 60].map(offset => `page=20&offset=${offset}&sort=user_name&order=DESC`),
  'page=100&filter[search]=ana',
  'page=100&filter[search]=ruiz&filter[legacy_record][]=false',
  'filter[start_date]=2026-03-01&filter[end_date]=2026-07-04',
  'filter[product_ids][]=1&filter[user_ids][]=501&filter[user_record_status][]=active',
  'filter[seids][]=1234567890&filter[proctor_ids][]=77&filter[organization_ids][]=10',
]

/** With these settings the service answers nothing: an error names the setting. */
const REFUSED = ['default_transaction_read_only = on', 'session_replication_role = replica']

const textOf = ({ name, value }: Setting) => `${name} = ${value}`

/**
 * Deals the settings into as many groups as a setting has values at most, so that no group has two values of one. The
 * settings are in the order of their names, so those of the planner get into different groups, too.
 */
function groupsOf(settings: Setting[]): Setting[][] {
  const values = Map.groupBy(settings, ({ name }) => name)
  const size = Math.max(...[...values.values()].map(({ length }) => length))
  return Array.from({ length: size }, (_, n) => settings.filter((_, index) => index % size === n))
}

test('with each value of a boolean or an enum that users set, every answer is the same, or an error names the setting', async () => {
  const settings = await otherSettings()
  expect(settings.length).toBeGreaterThan(70)
  const [refused = [], allowed = []] = [true, false].map(isRefused =>
    settings.filter(setting => REFUSED.includes(textOf(setting)) === isRefused),
  )
  expect(refused.map(textOf)).toEqual(REFUSED)
  for (const setting of refused) await expect(story([setting]), textOf(setting)).rejects.toThrow(setting.name)

  const expected = await story([])
  const answersOf = async (group: Setting[]): Promise<string> => {
    const shown = await story(group).catch((error: Error) => error)
    if (shown instanceof Error) return shown.message
    return Bun.deepEquals(shown, expected) ? 'the same' : 'other ones'
  }
  for (const group of groupsOf(allowed)) {
    const answers = await answersOf(group)
    if (answers === 'the same') continue
    // Which of them was it?
    for (const setting of group) expect(await answersOf([setting]), textOf(setting)).toBe('the same')
    throw new Error(
      `only together these settings change the answers: ${group.map(textOf).join(', ')}: ${answers}`,
    )
  }
})
