import { beforeEach, describe, expect, test } from 'bun:test'
import type { Sql } from 'postgres'
import { type Erasure, erasePerson, undoErasure } from '../../src/erasure/erase.ts'
import { assessment, educator, multiPart, PEOPLE, part, proctor } from '../support/fixtures.ts'
import { useService } from '../support/hooks.ts'
import { tryList } from '../support/http.ts'
import { everything, idsOf, importLines, importWith, staleRecords, useDatabase } from '../support/import.ts'
import { authorize, BACKENDS_OF_TIER } from '../support/service.ts'

const onWait = () => {}
const erase = (sql: Sql, id: number, dryRun = false) => erasePerson(sql, String(id), { dryRun, onWait })

/** Is erased in these tests; every text about her has this in it. */
const XENIA = 600
const WORD = 'Xenia'
const xenia = educator(XENIA, {
  name: `${WORD} N.`,
  first_name: WORD,
  last_name: `${WORD}son`,
  email: `${WORD}@example.org`,
  seid: `${WORD}-1`,
})
/** She has two assessments, of which others proctored one; and proctored two of others, in one a part alone. */
const WITH_XENIA = [
  ...[...PEOPLE, xenia, educator(2)],
  assessment(10, { user_id: XENIA }),
  multiPart(20, [21, part(22, { proctor_id: 2 })], { user_id: XENIA }),
  assessment(30, { proctor_id: XENIA }),
  multiPart(40, [41, part(42, { proctor_id: XENIA })], { user_id: 2 }),
  assessment(50),
]
const NOTHING: Erasure = {
  ...{ erasedBefore: null, assessments: 0, parts: 0, proctored: 0, user: 'not there' as const },
  unwiped: undefined,
}

describe.each(BACKENDS_OF_TIER)('an erasure on %s', backend => {
  const database = useDatabase(backend)
  beforeEach(async () => {
    await database.sql`truncate erasures`
    await importLines(database.sql, ...WITH_XENIA)
  })

  /** Every row of a table, and every statistic of the planner, that has the word in it. */
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

  test('removes the assessments of the person, and takes the name out of those of others', async () => {
    expect(await erase(database.sql, XENIA)).toEqual({
      ...NOTHING,
      ...{ assessments: 2, parts: 3, proctored: 2, user: 'without a name' },
    })
    expect(await idsOf(database.sql, 'export_records')).toEqual([30, 40, 50])
    expect(await staleRecords(database.sql)).toBeEmpty()
    const [row] = await database.sql<{ document: string }[]>`
      select document from export_records where id = 30`
    expect(JSON.parse(row?.document ?? '').results).toMatchObject([
      { proctor_id: XENIA, proctor_name: 'Erased person' },
    ])
  })

  test('leaves no row and no statistic in which anything but the id is of the person', async () => {
    await database.sql`analyze`
    await database.sql`update users set last_name = ${`${WORD}s`} where id = ${XENIA}`
    const logged = (await mentions()).filter(row => row.startsWith('export_changes'))
    expect(logged.length).toBeGreaterThan(0)
    await erase(database.sql, XENIA)
    expect(await mentions()).toEqual([])
  })

  test('removes the row of a person whom no assessment of others needs', async () => {
    await importLines(database.sql, assessment(30), multiPart(40, [41, 42], { user_id: 2 }))
    expect(await erase(database.sql, XENIA)).toMatchObject({ proctored: 0, user: 'removed' })
    expect(await idsOf(database.sql, 'users')).not.toContain(XENIA)
  })

  test('that is repeated removes the row when no assessment of others needs the row any more', async () => {
    await erase(database.sql, XENIA)
    await database.sql`delete from assessment_parts where assessment_id in (30, 40)`
    expect(await erase(database.sql, XENIA)).toMatchObject({ proctored: 0, user: 'removed' })
    expect(await idsOf(database.sql, 'users')).not.toContain(XENIA)
  })

  test('that is tried says the same, and changes nothing', async () => {
    const before = await everything(database.sql)
    const tried = await erase(database.sql, XENIA, true)
    expect(await everything(database.sql)).toEqual(before)
    expect(await database.sql`select from erasures`).toBeEmpty()
    expect(tried).toEqual(await erase(database.sql, XENIA))
  })

  test('is kept for an id that the data does not have, and can be repeated', async () => {
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

  test('is lifted, and the next import brings the person back', async () => {
    await erase(database.sql, XENIA)
    expect(await undoErasure(database.sql, String(XENIA), onWait)).not.toBe(null)
    expect(await undoErasure(database.sql, String(XENIA), onWait)).toBe(null)
    await importLines(database.sql, ...WITH_XENIA)
    expect(await idsOf(database.sql, 'export_records')).toEqual([10, 20, 30, 40, 50])
    expect((await database.sql`select from users where first_name = ${WORD}`).count).toBe(1)
  })

  test.each([
    ['a new name', `update users set email = 'x' where id = 600`],
    ['a new row', `insert into users (id, name) values (9, 'X') on conflict do nothing`],
    ['an assessment', `insert into assessments values (60, 600, 10, 1, now())`],
    ['an assessment of somebody else', 'update assessments set user_id = 600 where id = 50'],
  ])('is kept from %s that SQL of an operator writes', async (_, statement) => {
    for (const id of [XENIA, 9]) await erase(database.sql, id)
    const before = await everything(database.sql)
    const refused = database.sql.unsafe(statement)
    await expect(refused).rejects.toThrow(/^user (600|9) was erased: leave out whose user_id is in the table/)
    expect(await everything(database.sql)).toEqual(before)
    await database.sql`update users set name = name`
    await database.sql`update assessments set legacy_record = true`
  })

  test('waits for an import that has begun, and removes what that brings', async () => {
    await database.sql`truncate organizations, products, users, assessments, assessment_parts`
    let erased: Promise<Erasure> | undefined
    let hasWaited: (() => void) | undefined
    const waiting = new Promise<void>(resolve => (hasWaited = resolve))
    const halfway = async () => {
      const onWait = () => hasWaited?.()
      erased = erasePerson(database.sql, String(XENIA), { dryRun: false, onWait })
      // The embedded database has one connection, where the erasure waits without a word.
      if (backend === 'postgres') await waiting
    }
    await importWith(database.sql, { halfway }, ...WITH_XENIA)
    expect(await erased).toMatchObject({ assessments: 2 })
    expect(await idsOf(database.sql, 'export_records')).toEqual([30, 40, 50])
  })
})

describe('a service', () => {
  const service = useService()

  test('counts and finds pages anew behind an erasure, whatever it remembered', async () => {
    const others = Array.from({ length: 120 }, (_, at) => assessment(1000 + at, { user_id: 501 + (at % 2) }))
    await importLines(service.sql, ...PEOPLE, educator(502), proctor(503), ...others)
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
