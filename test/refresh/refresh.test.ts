import { beforeEach, describe, expect, test } from 'bun:test'
import pino from 'pino'
import postgres from 'postgres'
import { compareExport } from '../../src/doctor/export.ts'
import { refresh } from '../../src/refresh/refresh.ts'
import { assessment, educator, multiPart, organization, proctor, product } from '../support/fixtures.ts'
import { useService } from '../support/hooks.ts'
import { tryList } from '../support/http.ts'
import { staleRecords, versionOf } from '../support/import.ts'
import { parseRequest } from '../support/oracle.ts'
import { authorize, listen, load } from '../support/service.ts'
import { readOracle } from '../support/stored-platform.ts'
import { withoutTriggers } from '../support/without-triggers.ts'

/** Six records: three of Ana (501), three of Bo (502), each with one assessment of two parts. */
const WORLD = [
  ...[10, 11, 12].map(id => organization(id)),
  product(1, 'Reading Observation'),
  product(2, 'Writing Observation'),
  educator(501, { name: 'Ana Ruiz', first_name: 'Ana', last_name: 'Ruiz' }),
  educator(502, { name: 'Bo Li', first_name: 'Bo', last_name: 'Li' }),
  proctor(77, 'Pat Proctor'),
  assessment(9001),
  assessment(9002, { organization_id: 11 }),
  assessment(9003, { product_id: 2 }),
  ...[9100, 9200, 9300].map(id =>
    multiPart(id, [id + 1, id + 2], { user_id: 502, organization_id: 11, product_id: 2 }),
  ),
]

describe('axport refresh', () => {
  const service = useService()
  beforeEach(async () => {
    await service.sql`truncate organizations, products, users, assessments, assessment_parts`
    await service.sql`update export_state set time_zone = 'UTC'`
    await load(service.sql, WORLD)
  })

  const writeWithoutTriggers = (statements: string) => withoutTriggers(service.sql, statements)
  const run = (organizations?: string[]) => refresh(service.sql, organizations, () => {})

  /** The findings about records, names of people and names of products, each as "missing outdated left". */
  async function found(organizations?: string[]): Promise<string[]> {
    const { records, people, products } = await run(organizations)
    return [records, people, products].map(part => `${part.missing} ${part.outdated} ${part.left_over}`)
  }

  const none = '0 0 0'
  test.each<[string, string, string[]]>([
    [
      'a rename of a user',
      `update users set name = 'Eva', first_name = 'Eva' where id = 501`,
      ['0 3 0', '0 1 0', none],
    ],
    ['a rename of a proctor', `update users set name = 'Eva' where id = 77`, ['0 6 0', none, none]],
    [
      'a rename of an organization',
      `update organizations set name = 'New' where id = 10`,
      ['0 2 0', none, none],
    ],
    ['a rename of a product', `update products set name = 'New' where id = 2`, ['0 4 0', none, '0 1 0']],
    [
      'an insert of an assessment with its part',
      `insert into assessments values (9009, 501, 12, 1, now()); insert into assessment_parts values (9009, 9009, 1, null, null, 77)`,
      ['1 0 0', none, none],
    ],
    [
      'a move of an assessment',
      'update assessments set organization_id = 12 where id = 9100',
      ['0 1 0', none, none],
    ],
    [
      'a swap of two parts',
      'update assessment_parts set position = 3 - position where assessment_id = 9100',
      ['0 1 0', none, none],
    ],
    [
      'a deletion of the parts of an assessment',
      'delete from assessment_parts where assessment_id = 9100',
      ['0 0 1', none, none],
    ],
    [
      'a deletion of all assessments',
      'delete from assessment_parts; delete from assessments',
      ['0 0 6', none, none],
    ],
    [
      'inserts and deletions of users',
      `delete from users where id = 77; insert into users (id, name) values (78, 'New'); update assessment_parts set proctor_id = 78`,
      ['0 6 0', '1 0 1', none],
    ],
    [
      'a deletion of a user without the assessments',
      'delete from users where id = 502',
      ['0 0 3', '0 0 1', none],
    ],
    [
      'a change of the time zone',
      `update export_state set time_zone = 'Pacific/Kiritimati'`,
      ['0 6 0', none, none],
    ],
    ['a write that changes nothing', 'update users set name = name', [none, none, none]],
  ])('renders the rows that differ and reports the difference, after %s', async (_, statements, expected) => {
    await writeWithoutTriggers(statements)
    expect(await found()).toEqual(expected)
    expect(await compareExport(service.sql, true)).toMatchObject({ status: 'ok' })
    const version = await versionOf(service.sql)
    expect(await found()).toEqual([none, none, none])
    expect(await versionOf(service.sql)).toBe(version)
  })

  test('counts again if counts differ from the records, and reports missing, wrong and left-over counts', async () => {
    const version = await versionOf(service.sql)
    await writeWithoutTriggers(`
      delete from export_counts where organization_id = 10; update export_counts set records = 9 where organization_id = 11;
      insert into export_counts values (12, 1, 5)`)
    expect((await run(['12'])).counts).toEqual({ compared: 1, missing: 0, outdated: 0, left_over: 1 })
    expect((await run()).counts).toEqual({ compared: 4, missing: 2, outdated: 2, left_over: 0 })
    // The hints of running services about the wrong counts become invalid.
    expect(await versionOf(service.sql)).toBe(version + 3n)
    expect(await staleRecords(service.sql)).toBeEmpty()
    expect((await run()).counts).toEqual({ compared: 4, missing: 0, outdated: 0, left_over: 0 })
    expect(await versionOf(service.sql)).toBe(version + 3n)
  })

  test('repairs records and counts after writes to the read model itself', async () => {
    await writeWithoutTriggers(
      'delete from export_records where id = 9001; update export_records set organization_id = 10 where id = 9100',
    )
    const { records, counts } = await run()
    expect({ records, counts }).toMatchObject({
      records: { missing: 1, outdated: 1 },
      counts: { outdated: 2, missing: 1 },
    })
    expect(await staleRecords(service.sql)).toBeEmpty()
  })

  test('with organizations compares only their records, and the names of the people in these records', async () => {
    await writeWithoutTriggers(
      `update users set first_name = 'Eva'; update assessments set organization_id = 12 where id = 9300`,
    )
    const { records, people } = await run(['10'])
    expect(records).toEqual({ compared: 2, missing: 0, outdated: 2, left_over: 0 })
    expect(people).toEqual({ compared: 1, missing: 0, outdated: 1, left_over: 0 })
    // A record belongs to an organization by its source or by the stored record.
    expect((await run(['12'])).records).toMatchObject({ compared: 1, outdated: 1 })
    expect((await run(['11'])).records).toMatchObject({ compared: 3, outdated: 3 })
    expect(await found()).toEqual([none, '0 1 0', none])
  })

  test('finds people whose user and records were deleted, with any organizations', async () => {
    await writeWithoutTriggers(`
      delete from assessment_parts where assessment_id >= 9100; delete from assessments where id >= 9100;
      delete from users where id = 502`)
    expect(await found(['11'])).toEqual(['0 0 3', '0 0 1', none])
    expect(await found()).toEqual([none, none, none])
  })

  test('refuses an organization that is neither in the source nor in the records', async () => {
    await writeWithoutTriggers('delete from organizations where id in (11, 12)')
    await expect(run(['12', '11', '9999', '10'])).rejects.toThrow(
      'there is no organization 12, 9999: check the ids',
    )
    expect((await run(['11'])).records).toMatchObject({ compared: 4 })
  })

  const QUERIES = ['', 'page=2&offset=2', 'sort=user_name&order=desc', 'filter[organization_ids][]=11']
  const SEARCHES = ['ana', 'eva', 'li', 'reading', 'poetry'].map(text => `filter[search]=${text}`)

  test.each<[string, () => Promise<unknown>]>([
    ['changes of names without triggers', async () => {}],
    [
      'rendering of some records, but not of the names that searches read',
      () => service.sql`update assessments set legacy_record = true`,
    ],
    [
      'rendering of the names that searches read, but not of the records',
      () => service.sql`select refresh_export_people(array[501, 502]), refresh_export_products(array[1, 2])`,
    ],
  ])('corrects the pages of a running service immediately, after %s', async (_, meanwhile) => {
    const scope = { organizations: [10, 11, 12], products: [1, 2] }
    const { token } = await authorize(service, scope.organizations, scope.products)
    const { url, stop } = listen(service, pino({ level: 'silent' }))
    const ask = async () => {
      const answers: string[] = []
      for (const query of [...QUERIES, ...SEARCHES]) answers.push((await tryList(url, token, query)).text)
      return answers
    }
    await writeWithoutTriggers(`
      update users set name = 'Eva', first_name = 'Eva' where id = 501;
      update products set name = 'Poetry' where id = 1;
      delete from assessment_parts where assessment_id = 9100;
      update export_counts set records = records + 1 where organization_id = 10`)
    await meanwhile()
    const oracle = await readOracle(service.sql)
    const truth = [...QUERIES, ...SEARCHES].map(query => oracle.list(scope, parseRequest(query)))
    expect(await ask()).not.toEqual(truth)
    await run()
    expect(await ask()).toEqual(truth)
    await stop()
  })
})

describe('axport refresh', () => {
  const service = useService()

  test('changes no record if the time zone is missing, because no record could be rendered', async () => {
    await load(service.sql, WORLD)
    await service.sql`delete from export_state`
    const version = await versionOf(service.sql)
    const refused = await refresh(service.sql, undefined, () => {}).catch(error => error.message)
    await service.sql`insert into export_state default values`
    expect(refused).toStartWith('export_state has no row: insert into export_state')
    expect(await versionOf(service.sql)).toBe(version)
  })

  test('writes in transactions of 2,000 rows, and waits for no writer if no row differs', async () => {
    await load(service.sql, WORLD)
    await service.sql`
      insert into assessments select id, 501, 10, 1, '2026-03-01Z' from generate_series(20001, 22100) as id`
    await service.sql`
      insert into assessment_parts select id, id, 1, null, null, 77 from generate_series(20001, 22100) as id`
    /** The numbers of records that each transaction has written, the largest first. */
    const transactions = async () => {
      const rows = await service.sql<{ records: number }[]>`
        select count(*)::integer as records from export_records where id > 20000 group by xmin::text order by 1 desc`
      return rows.map(({ records }) => records)
    }
    expect(await transactions()).toEqual([2100])
    await withoutTriggers(service.sql, `update users set email = 'x' where id = 501`)
    expect((await refresh(service.sql, undefined, () => {})).records).toMatchObject({ outdated: 2103 })
    // The six records of WORLD come before these.
    expect(await transactions()).toEqual([1994, 106])

    const impatient = postgres(service.url, { max: 1, connection: { lock_timeout: 1000 } })
    await service.sql.begin(async writer => {
      await writer`update users set email = 'y' where id = 501`
      expect((await refresh(impatient, undefined, () => {})).records).toMatchObject({ outdated: 0 })
    })
    await impatient.end()
  })

  test('reports each row once during another refresh, and equals the source despite concurrent writers', async () => {
    await load(service.sql, WORLD)
    await withoutTriggers(service.sql, `update users set email = 'z'`)
    const [known] = await service.sql`select count(*)::integer as records from export_records`
    const both = await Promise.all([1, 2].map(() => refresh(service.sql, undefined, () => {})))
    expect(both.reduce((sum, { records }) => sum + records.outdated, 0)).toBe(known?.records)

    await withoutTriggers(service.sql, `update users set name = 'Past', first_name = 'Past'`)
    const writes = [501, 502, 77].flatMap(id => [
      service.sql`update users set first_name = 'New' where id = ${id}`,
      service.sql`update assessments set user_id = ${id} where id = 9001`,
    ])
    await Promise.all([refresh(service.sql, undefined, () => {}), ...writes])
    expect(await compareExport(service.sql, true)).toMatchObject({ status: 'ok' })
  })
})
