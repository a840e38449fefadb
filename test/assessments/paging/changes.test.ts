import { beforeEach, describe, expect, test } from 'bun:test'
import { randomInt } from 'node:crypto'
import fc from 'fast-check'
import type { Sql } from 'postgres'
import { setTimeZone } from '../../../src/postgres/time-zone.ts'
import { useTestDatabase } from '../../support/hooks.ts'
import { importLines } from '../../support/import.ts'
import { anyWrite, ORGANIZATIONS, reset, write } from './world.ts'

/** What the log of changes holds for whoever remembers something of one of its positions. */

const database = useTestDatabase()
beforeEach(() => reset(database.sql, 120))

interface Logged {
  position: string
  tag: string
  delta: number | null
  id: string | null
  organization: number | null
  search: string | null
}

const log = async (sql: Sql = database.sql) => [
  ...(await sql<Logged[]>`
    select position, tag, delta, id, organization_id::integer as organization, search_text as search
    from export_changes order by position`),
]

/** The rows that `work` has added to the log. */
async function loggedBy(work: () => Promise<unknown>): Promise<Logged[]> {
  const before = new Set((await log()).map(row => row.position))
  await work()
  return (await log()).filter(row => !before.has(row.position))
}

/** The organizations in which `work` has changed a record. */
async function changedBy(work: () => Promise<unknown>): Promise<number[]> {
  const rows = await loggedBy(work)
  return [...new Set(rows.map(row => row.organization ?? 0))].sort()
}

const run = (statement: string) => () => database.sql.unsafe(statement)

describe('the organizations of the records that are logged are', () => {
  test.each<[string, string, number[]]>([
    [
      'that of a changed record',
      `update assessments set certified_at = certified_at + interval '9 days' where id = 10`,
      [2],
    ],
    ['that of a deleted one', 'delete from assessments where id = 20', [3]],
    [
      'that of a record whose last part is deleted',
      'delete from assessment_parts where assessment_id = 30',
      [4],
    ],
    ['those of both when a record moves', 'update assessments set organization_id = 6 where id = 10', [2, 6]],
    [
      'that of a new one',
      `with a as (insert into assessments values (7001, 1, 5, 1, now(), false) returning id)
      insert into assessment_parts select id, id, 1, null, null, 2 from a`,
      [5],
    ],
    [
      'those of all records that show a renamed product',
      `update products set name = 'New' where id = 1`,
      [1, 2, 3],
    ],
    [
      'none when another document is all that changes',
      `update organizations set name = 'New' where id = 4`,
      [],
    ],
    ['none when a rename changes nothing', 'update users set name = name', []],
    ['none when no record changes', 'update assessments set user_id = user_id', []],
    ['none when there is nothing to change', 'delete from assessments where id = -1', []],
    [
      'that of a record written straight into the read model',
      'update export_records set certified_on = certified_on + 1 where id = 10',
      [2],
    ],
    [
      'those of records that are merged',
      `merge into export_records r using (values (10), (20)) as of (id) on r.id = of.id
      when matched and r.id = 10 then delete when matched then update set certified_on = certified_on + 1`,
      [2, 3],
    ],
    ['all of them (0) when the read model is emptied', 'truncate export_records', [0]],
    ['all of them when the source is', 'truncate assessments cascade', ORGANIZATIONS],
  ])('%s', async (_, statement, organizations) => {
    expect(await changedBy(run(statement))).toEqual(organizations)
  })

  test('those of all records that another time zone moves', async () => {
    expect(await changedBy(() => setTimeZone(database.sql, 'Pacific/Kiritimati'))).toEqual(ORGANIZATIONS)
  })

  test('those of the lines of an import that differ', async () => {
    const line = { type: 'assessment', user_id: 1, product_id: 1, certified_at: '2025-05-05', proctor_id: 1 }
    const load = () =>
      importLines(
        database.sql,
        { ...line, id: 8001, organization_id: 1 },
        { ...line, id: 8002, organization_id: 3 },
      )
    expect(await changedBy(load)).toEqual([1, 3])
    expect(await changedBy(load)).toEqual([])
  })

  test('none when it is undone', async () => {
    const undone = () =>
      database.sql
        .begin(async sql => {
          await sql`delete from assessments where organization_id = 1`
          throw new Error('undone')
        })
        .catch(() => {})
    expect(await changedBy(undone)).toEqual([])
  })
})

describe('what is logged', () => {
  test('is what went and what came, by value: somebody renamed leaves one search and enters another', async () => {
    const rows = await loggedBy(
      run(`update users set first_name = 'ZOË', last_name = E'Two\nLines' where id = 1`),
    )
    const names = (delta: number) => [
      ...new Set(rows.filter(row => row.delta === delta).map(row => row.search)),
    ]
    expect(names(-1).sort()).toEqual(['ana\nruiz\nproduct 0', 'ana\nruiz\nproduct 1', 'ana\nruiz\nproduct 2'])
    expect(names(1).sort()).toEqual([
      'zoë\ntwo lines\nproduct 0',
      'zoë\ntwo lines\nproduct 1',
      'zoë\ntwo lines\nproduct 2',
    ])
    expect(rows.filter(row => row.delta === 1)).toHaveLength(rows.length / 2)
  })

  test('is a record that went and came when it moves from one organization to another', async () => {
    const rows = await loggedBy(run('update assessments set organization_id = 6 where id = 10'))
    expect(rows.map(({ delta, id, organization }) => ({ delta, id, organization }))).toEqual([
      { delta: -1, id: '10', organization: 2 },
      { delta: 1, id: '10', organization: 6 },
    ])
  })

  test('equals the difference of the read model, whatever is written', async () => {
    const records = async () =>
      (
        await database.sql<{ id: string; row: string }[]>`
        select id, (id, organization_id, product_id, user_id, seid, is_archived, legacy_record, proctor_ids,
          certified_on, user_name_key, proctor_name_key, product_name_key, search_text_of(document))::text as row
        from export_records`
      ).map(({ row }) => row)
    const seed = randomInt(2 ** 31)
    for (const next of fc.sample(anyWrite, { numRuns: 40, seed })) {
      const before = await records()
      const rows = await loggedBy(() => write(database.sql, next))
      const deltas = await database.sql<{ row: string; delta: number }[]>`
        select (id, organization_id, product_id, user_id, seid, is_archived, legacy_record, proctor_ids,
          certified_on, user_name_key, proctor_name_key, product_name_key, search_text)::text as row,
          sum(delta)::integer as delta
        from export_changes where position = any (${rows.map(row => row.position)}::bigint[])
        group by 1 having sum(delta) <> 0`
      if (rows.some(row => row.delta === null)) continue
      const after = await records()
      const expected = [
        ...before.filter(row => !after.includes(row)).map(row => ({ row, delta: -1 })),
        ...after.filter(row => !before.includes(row)).map(row => ({ row, delta: 1 })),
      ]
      const sorted = (of: { row: string; delta: number }[]) =>
        of.map(({ row, delta }) => `${delta} ${row}`).sort()
      expect({ seed, next, changes: sorted([...deltas]) }).toEqual({ seed, next, changes: sorted(expected) })
    }
  })

  test('of 1,000 changes and more is a row for each organization', async () => {
    const load = (records: number) =>
      run(`insert into export_records
        select 100000 * ${records} + n, 1 + n % 2, product_id, user_id, seid, is_archived, legacy_record, proctor_ids, certified_on,
          user_name_key, proctor_name_key, product_name_key, document
        from generate_series(1, ${records}) n, export_records where id = 10`)
    expect(await loggedBy(load(999))).toHaveLength(999)
    const rows = await loggedBy(load(1000))
    expect(rows.map(row => [row.delta, row.organization]).sort()).toEqual([
      [null, 1],
      [null, 2],
    ])
  })

  test('is 10,000 rows at most, the newest', async () => {
    await database.sql`
      insert into export_changes (organization_id) select 1 from generate_series(1, 10500)`
    await run('update assessments set legacy_record = not legacy_record where id = 10')()
    const rows = await log()
    expect(rows.length).toBeLessThanOrEqual(10_000)
    expect(rows.at(-1)).toMatchObject({ delta: 1, id: '10' })
  })

  test('has a tag that nobody can foresee', async () => {
    await run('update assessments set legacy_record = not legacy_record')()
    const tags = (await log()).map(row => row.tag)
    expect(new Set(tags).size).toBe(tags.length)
  })

  test('is committed in the order of positions, whatever tables are written', async () => {
    const order: bigint[] = []
    const writers = [1, 2, 3, 4, 5].map(organization =>
      database.sql.begin(async sql => {
        await sql`update assessments set legacy_record = not legacy_record where organization_id = ${organization}`
        const newest = BigInt((await log(sql as unknown as Sql)).at(-1)?.position ?? 0)
        order.push(newest)
        // Nobody else logs anything before this one is committed; a while, so that somebody could.
        await sql`select pg_sleep(0.01)`
        expect(order.at(-1)).toBe(newest)
      }),
    )
    await Promise.all(writers)
    expect(order).toEqual([...order].sort((a, b) => (a < b ? -1 : 1)))
  })
})
