import { beforeEach, describe, expect, test } from 'bun:test'
import type { Sql } from 'postgres'
import { type Erasure, erasePerson, removeTombstone } from '../../src/erasure/erase.ts'
import { refresh } from '../../src/tables/refresh.ts'
import { assessment, educator, multiPart, part, proctor, REFERENCED } from '../support/fixtures.ts'
import { useService } from '../support/hooks.ts'
import { tryList } from '../support/http.ts'
import { everything, idsOf, importLines, importWith, staleRecords, useDatabase } from '../support/import.ts'
import { authorize } from '../support/service.ts'

const onWait = () => {}
const erase = (sql: Sql, id: number, dryRun = false) => erasePerson(sql, String(id), { dryRun, onWait })

/** The person whom these tests erase. Every text about her contains this word. */
const XENIA = 600
const WORD = 'Xenia'
const xenia = educator(XENIA, {
  name: `${WORD} N.`,
  first_name: WORD,
  last_name: `${WORD}son`,
  email: `${WORD}@example.org`,
  seid: `${WORD}-1`,
})
/**
 * She has two assessments, one proctored by others. She proctored two assessments of others, one only in a
 * part.
 */
const WITH_XENIA = [
  ...[...REFERENCED, xenia, educator(2)],
  assessment(10, { user_id: XENIA }),
  multiPart(20, [21, part(22, { proctor_id: 2 })], { user_id: XENIA }),
  assessment(30, { proctor_id: XENIA }),
  multiPart(40, [41, part(42, { proctor_id: XENIA })], { user_id: 2 }),
  assessment(50),
]
const NOTHING: Erasure = {
  erasedBefore: null,
  assessments: 0,
  parts: 0,
  proctored: 0,
  user: 'not there' as const,
  vacuumFailure: undefined,
}

describe('an erasure', () => {
  const database = useDatabase()
  beforeEach(async () => {
    await database.sql`truncate erasures`
    await importLines(database.sql, ...WITH_XENIA)
  })

  /** Every row of a table, and every statistic of the planner, that contains the word. */
  async function mentions(): Promise<string[]> {
    const tables = await database.sql<{ name: string }[]>`
      select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
      union all select 'pg_stats'`
    const found: string[] = []
    for (const { name } of tables) {
      const rows = await database.sql`
        select t::text as row from ${database.sql(name)} t where t::text ilike ${`%${WORD}%`}`
      found.push(...rows.map(({ row }) => `${name} ${row}`))
    }
    return found
  }

  test('removes the assessments of the person, and the name from assessments of others', async () => {
    expect(await erase(database.sql, XENIA)).toEqual({
      ...NOTHING,
      assessments: 2,
      parts: 3,
      proctored: 2,
      user: 'without a name',
    })
    expect(await idsOf(database.sql, 'export_records')).toEqual([30, 40, 50])
    expect(await staleRecords(database.sql)).toBeEmpty()
    const [row] = await database.sql<{ document: string }[]>`
      select document from export_records where id = 30`
    expect(JSON.parse(row?.document ?? '').results).toMatchObject([
      { proctor_id: XENIA, proctor_name: 'Erased person' },
    ])
  })

  test('leaves no row and no statistic about the person except the id', async () => {
    await database.sql`analyze`
    await database.sql`update users set last_name = ${`${WORD}s`} where id = ${XENIA}`
    expect((await mentions()).length).toBeGreaterThan(0)
    await erase(database.sql, XENIA)
    expect(await mentions()).toEqual([])
  })

  test('removes the row of a person whom no assessment of others needs', async () => {
    await importLines(database.sql, assessment(30), multiPart(40, [41, 42], { user_id: 2 }))
    expect(await erase(database.sql, XENIA)).toMatchObject({ proctored: 0, user: 'removed' })
    expect(await idsOf(database.sql, 'users')).not.toContain(XENIA)
  })

  test('removes the row when repeated, if no assessment of others needs the row any more', async () => {
    await erase(database.sql, XENIA)
    await database.sql`delete from assessment_parts where assessment_id in (30, 40)`
    expect(await erase(database.sql, XENIA)).toMatchObject({ proctored: 0, user: 'removed' })
    expect(await idsOf(database.sql, 'users')).not.toContain(XENIA)
  })

  test('with --dry-run reports the same and changes nothing', async () => {
    const before = await everything(database.sql)
    const tried = await erase(database.sql, XENIA, true)
    expect(await everything(database.sql)).toEqual(before)
    expect(await database.sql`select from erasures`).toBeEmpty()
    expect(tried).toEqual(await erase(database.sql, XENIA))
  })

  test('of an id without data is stored, and can be repeated', async () => {
    expect(await erase(database.sql, 9)).toEqual(NOTHING)
    const tombstone = async () => {
      const rows = await database.sql`select *, role = session_user as mine from erasures`
      expect(rows).toHaveLength(1)
      return rows[0]
    }
    const first = await tombstone()
    expect(first).toMatchObject({ user_id: '9', mine: true })
    expect((await erase(database.sql, 9)).erasedBefore).toMatch(/^20.*Z$/)
    expect(await tombstone()).toEqual(first)
  })

  test('ends with its tombstone: the next import loads the person again', async () => {
    await erase(database.sql, XENIA)
    expect(await removeTombstone(database.sql, String(XENIA), onWait)).not.toBe(null)
    expect(await removeTombstone(database.sql, String(XENIA), onWait)).toBe(null)
    await importLines(database.sql, ...WITH_XENIA)
    expect(await idsOf(database.sql, 'export_records')).toEqual([10, 20, 30, 40, 50])
    expect((await database.sql`select from users where first_name = ${WORD}`).count).toBe(1)
  })

  test.each<[string, string, number[]]>([
    [
      'a new name',
      `update users set name = 'Xenia', first_name = 'Xenia', email = 'x' where id = 600`,
      [30, 40, 50],
    ],
    ['an assessment', `insert into assessments values (10, 600, 10, 1, now())`, [30, 40, 50]],
    ["a change of an assessment's educator", 'update assessments set user_id = 600 where id = 50', [30, 40]],
  ])(
    'lasts after %s by SQL, which is not exported and goes with the next refresh',
    async (_, statement, ids) => {
      await erase(database.sql, XENIA)
      await database.sql.unsafe(statement)
      expect((await mentions()).filter(row => row.startsWith('export_'))).toEqual([])
      expect(await idsOf(database.sql, 'export_records')).toEqual(ids)
      await refresh(database.sql, () => {})
      expect(await database.sql`select from assessments where user_id = ${XENIA}`).toBeEmpty()
      const [row] = await database.sql`select name, email from users where id = ${XENIA}`
      expect(row).toEqual({ name: 'Erased person', email: '' })
      expect(await staleRecords(database.sql)).toBeEmpty()
    },
  )

  test('waits for a running import, and removes the rows that it loads', async () => {
    await database.sql`truncate organizations, products, users, assessments, assessment_parts`
    let erased: Promise<Erasure> | undefined
    let hasWaited: (() => void) | undefined
    const waiting = new Promise<void>(resolve => (hasWaited = resolve))
    const halfway = async () => {
      const onWait = () => hasWaited?.()
      erased = erasePerson(database.sql, String(XENIA), { dryRun: false, onWait })
      await waiting
    }
    await importWith(database.sql, { halfway }, ...WITH_XENIA)
    expect(await erased).toMatchObject({ assessments: 2 })
    expect(await idsOf(database.sql, 'export_records')).toEqual([30, 40, 50])
  })
})

describe('a running service', () => {
  const service = useService()

  test('reads the right pages after an erasure', async () => {
    const others = Array.from({ length: 120 }, (_, at) => assessment(1000 + at, { user_id: 501 + (at % 2) }))
    await importLines(service.sql, ...REFERENCED, educator(502), proctor(503), ...others)
    const { token } = await authorize(service, [10], [1])
    const page = async () => {
      const { body } = await tryList(service.baseUrl, token, 'page=50&offset=50')
      const { data, meta } = body as { data: { id: number }[]; meta: { count: number } }
      return [meta.count, data.map(({ id }) => id)]
    }
    expect((await page())[0]).toBe(120)
    await erase(service.sql, 501)
    expect(await page()).toEqual([
      60,
      others
        .filter((_, at) => at % 2)
        .slice(50)
        .map(({ id }) => id),
    ])
  })
})
