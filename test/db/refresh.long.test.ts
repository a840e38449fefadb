import { beforeEach, describe, expect, test } from 'bun:test'
import pino from 'pino'
import { compareExport } from '../../src/doctor/export.ts'
import { type Refreshed, refresh } from '../../src/tables/refresh.ts'
import { assessment, educator, multiPart, organization, proctor, product } from '../support/fixtures.ts'
import { useService } from '../support/hooks.ts'
import { tryList } from '../support/http.ts'
import { staleRecords, versionOf } from '../support/import.ts'
import { parseRequest } from '../support/oracle.ts'
import { authorize, listen, load } from '../support/service.ts'
import { readOracle } from '../support/stored-platform.ts'
import { until } from '../support/until.ts'
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
  const run = () => refresh(service.sql, () => {})

  test.each<[string, string, Partial<Refreshed>]>([
    [
      'a rename of a user',
      `update users set name = 'Eva', first_name = 'Eva' where id = 501`,
      { records: 3, people: 1 },
    ],
    ['a rename of a proctor', `update users set name = 'Eva' where id = 77`, { records: 6 }],
    ['a rename of an organization', `update organizations set name = 'New' where id = 10`, { records: 2 }],
    ['a rename of a product', `update products set name = 'New' where id = 2`, { records: 4, products: 1 }],
    [
      'an insert of an assessment with its part',
      `insert into assessments values (9009, 501, 12, 1, now()); insert into assessment_parts values (9009, 9009, 1, null, null, 77)`,
      { records: 1 },
    ],
    [
      'a move of an assessment',
      'update assessments set organization_id = 12 where id = 9100',
      { records: 1 },
    ],
    [
      'a swap of two parts',
      'update assessment_parts set position = 3 - position where assessment_id = 9100',
      { records: 1 },
    ],
    [
      'a deletion of the parts of an assessment',
      'delete from assessment_parts where assessment_id = 9100',
      { records: 1 },
    ],
    [
      'a deletion of all assessments',
      'delete from assessment_parts; delete from assessments',
      { records: 6 },
    ],
    [
      'inserts and deletions of users',
      `delete from users where id = 77; insert into users (id, name) values (78, 'New'); update assessment_parts set proctor_id = 78`,
      { records: 6, people: 2 },
    ],
    [
      'a deletion of a user without the assessments',
      'delete from users where id = 502',
      { records: 3, people: 1 },
    ],
    ['a change of the time zone', `update export_state set time_zone = 'Pacific/Kiritimati'`, { records: 6 }],
    [
      'writes to the records themselves',
      'delete from export_records where id = 9001; update export_records set organization_id = 10 where id = 9100',
      { records: 2 },
    ],
    [
      'writes to the counts',
      `delete from export_counts where organization_id = 10; update export_counts set records = 9 where organization_id = 11;
       insert into export_counts values (12, 1, 5)`,
      {},
    ],
    ['a write that changes nothing', 'update users set name = name', {}],
  ])('makes the export equal to its source, after %s', async (_, statements, expected) => {
    await writeWithoutTriggers(statements)
    const nothing = { erased: 0, records: 0, people: 0, products: 0, vacuumFailure: undefined }
    expect(await run()).toEqual({ ...nothing, ...expected })
    expect(await compareExport(service.sql, true)).toMatchObject({ status: 'ok' })
    expect(await staleRecords(service.sql)).toBeEmpty()
    expect(await run()).toEqual(nothing)
  })

  test('makes another version of the export, also if every row is right', async () => {
    const version = await versionOf(service.sql)
    await run()
    expect(await versionOf(service.sql)).not.toBe(version)
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
    const refused = await refresh(service.sql, () => {}).catch(error => error.message)
    await service.sql`insert into export_state default values`
    expect(refused).toStartWith('export_state is empty, its one row was deleted: insert into export_state')
    expect(await versionOf(service.sql)).toBe(version)
  })

  test('writes in transactions of 2,000 rows, and waits for a writer without keeping readers waiting', async () => {
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
    const writer = await service.sql.reserve()
    await writer`begin`
    await writer`update users set email = 'y' where id = 502`
    let isOver = false
    const refreshing = refresh(service.sql, () => {}).finally(() => {
      isOver = true
    })
    await until('the refresh waits', async () => {
      const { count } = await service.sql`
        select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
      return count === 1
    })
    expect(await service.sql`select id from export_records where document like '%"x"%'`).toHaveLength(0)
    expect(isOver).toBe(false)
    await writer`commit`
    writer.release()
    expect(await refreshing).toMatchObject({ records: 2103 })
    // The six records of WORLD come before these.
    expect(await transactions()).toEqual([1994, 106])
  })

  test('leaves the export equal to its source, beside another refresh and other writers', async () => {
    await load(service.sql, WORLD)
    await withoutTriggers(service.sql, `update users set name = 'Past', first_name = 'Past'`)
    const writes = [501, 502, 77].flatMap(id => [
      service.sql`update users set first_name = 'New' where id = ${id}`,
      service.sql`update assessments set user_id = ${id} where id = 9001`,
    ])
    const refreshes = [1, 2].map(() => refresh(service.sql, () => {}))
    await Promise.all([...refreshes, ...writes])
    expect(await compareExport(service.sql, true)).toMatchObject({ status: 'ok' })
  })
})
