import { describe, expect, test } from 'bun:test'
import type { Sql, TransactionSql } from 'postgres'
import type { ImportOptions } from '../../src/import/result.ts'
import {
  EDUCATOR,
  educator,
  multiPart,
  ndjsonOf,
  PRODUCT,
  part,
  product,
  REFERENCED,
  range,
  removal,
} from '../support/fixtures.ts'
import {
  idsOf,
  importLines,
  importText,
  importWith,
  partsOf,
  staleRecords,
  useDatabase,
} from '../support/import.ts'
import { until } from '../support/until.ts'
import { missing, NO_JSON } from '../support/wordings.ts'

/** An assessment of two parts with the same name. */
const assessmentOf = (id: number, name = 'n') =>
  multiPart(id, [part(id + 1, { name }), part(id + 2, { name })])
const assessments = (count: number, name?: string) =>
  range(count, index => assessmentOf(1000 + 10 * index, name))

/** The imported rows that a reader sees, in one statement. */
async function seen(sql: Sql): Promise<string> {
  const [row] = await sql`
    select
      (select count(*) from assessments) as assessments,
      (select count(*) from assessment_parts) as parts,
      (select count(*) from export_records) as records,
      (select string_agg(distinct document::json -> 'results' -> 0 ->> 'assessment_name', ' ') from export_records) as names,
      (select string_agg(distinct name, ' ') from users) as users`
  return JSON.stringify(row)
}

describe('concurrent statements', () => {
  const database = useDatabase()

  test('a reader sees the state before or after an import, and no state between', async () => {
    const { sql } = database
    await importLines(sql, ...REFERENCED, ...assessments(300, 'old'))
    const before = await seen(sql)
    let isOver = false
    const reading = async () => {
      const states = new Set<string>()
      while (!isOver) states.add(await seen(sql))
      return states
    }
    // Progress is also reported while rows are written to the tables (phase "loading").
    const looks: Promise<string>[] = []
    const look = () => void looks.push(seen(sql))
    const importing = importWith(
      sql,
      { halfway: look, onProgress: look },
      educator(EDUCATOR, { name: 'renamed' }),
      ...assessments(600, 'new').slice(1),
      removal('assessment', 1000),
    )
    const [result, states] = await Promise.all([importing.finally(() => (isOver = true)), reading()])
    expect(result).toMatchObject({ loaded: true })
    const after = await seen(sql)
    expect(after).not.toBe(before)
    expect(looks.length).toBeGreaterThan(3)
    for (const state of [...states, ...(await Promise.all(looks))]) expect([before, after]).toContain(state)
  })

  test('the second of two concurrent imports waits for the first and sees its rows', async () => {
    const { sql } = database
    let second: Promise<unknown> | undefined
    const events: string[] = []
    const first = importText(sql, ndjsonOf([...REFERENCED, ...assessments(50, 'first')]), {
      halfway: () => {
        // Refers to rows that only the first import inserts, and replaces some of them.
        second = importLines(sql, assessmentOf(1000, 'second'), assessmentOf(5, 'second')).finally(() =>
          events.push('second'),
        )
      },
    }).finally(() => events.push('first'))
    expect(await first).toMatchObject({ loaded: true, lines: 54 })
    expect(await second).toMatchObject({ loaded: true, lines: 2 })
    expect(events).toEqual(['first', 'second'])
    const names = await sql`select distinct name from assessment_parts where assessment_id in (5, 1000)`
    expect(names.map(row => row.name)).toEqual(['second'])
    expect(await idsOf(sql, 'assessments')).toHaveLength(51)
    expect(await staleRecords(sql)).toBeEmpty()
  })

  test('an import whose source fails midway loads nothing, and the next import runs', async () => {
    const { sql } = database
    const broken = importText(sql, ndjsonOf([...REFERENCED, ...assessments(5)]), {
      halfway: () => {
        throw new Error('the source broke off')
      },
    })
    expect(await broken.catch(error => String(error))).toContain('the source broke off')
    expect(await sql`select id from users`).toBeEmpty()
    expect(await importLines(sql, ...REFERENCED)).toMatchObject({ loaded: true, lines: 4 })
  })
})

describe('concurrent statements on postgres', () => {
  const database = useDatabase()

  /** Runs an import beside a transaction that has written, commits that when the import waits for it, and loads. */
  const importBeside = (write: (writer: TransactionSql) => Promise<unknown>, ...lines: object[]) =>
    importWithBeside(write, {}, ...lines)

  async function importWithBeside(
    write: (writer: TransactionSql) => Promise<unknown>,
    options: ImportOptions,
    ...lines: (object | string)[]
  ) {
    const importing = await database.sql.begin(async writer => {
      await write(writer)
      const started = importWith(database.sql, options, ...lines)
      await until('the import waits for the writer', async () => {
        const { count } = await database.sql`
          select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
        return count > 0
      })
      return { started }
    })
    expect(await importing.started).toMatchObject({ loaded: true })
    expect(await staleRecords(database.sql)).toBeEmpty()
  }

  test('an import sets every user that its lines name, also one that a writer changed last', async () => {
    await importLines(database.sql, ...REFERENCED, educator(21, { name: 'n' }), educator(22, { name: 'n' }))
    const lines = [educator(21, { name: 'n' }), educator(22, { name: 'of the file' })]
    await importBeside(writer => writer`update users set name = 'of SQL' where id in (21, 22)`, ...lines)
    const names = await database.sql`select name from users where id in (21, 22) order by id`
    expect(names.map(({ name }) => name)).toEqual(['n', 'of the file'])
  })

  test('an import restores a user that a writer deleted last', async () => {
    await importLines(database.sql, ...REFERENCED, educator(21, { name: 'n' }), educator(22, { name: 'n' }))
    const lines = [educator(21, { name: 'n' }), educator(22, { name: 'of the file' })]
    await importBeside(writer => writer`delete from users where id = 21`, ...lines)
    expect(await idsOf(database.sql, 'users')).toContain(21)
  })

  test('a record has only the parts of its line, and none that a writer added last', async () => {
    await importLines(database.sql, ...REFERENCED, multiPart(30, [31, 32]), multiPart(40, [41]))
    const lines = [multiPart(30, [31, part(32, { name: 'of the file' })]), multiPart(40, [41])]
    await importBeside(
      writer => writer`
        insert into assessment_parts (id, assessment_id, position, name, certified_at, proctor_id)
        select id + 5, assessment_id, 7, 'of SQL', certified_at, proctor_id from assessment_parts where id in (31, 41)`,
      ...lines,
    )
    expect(await partsOf(database.sql)).toEqual({ 30: [31, 32], 40: [41] })
  })

  test('an import with --rejects judges each line once, by what a writer left', async () => {
    await importLines(database.sql, ...REFERENCED, educator(21, { name: 'n' }))
    const rejects: string[] = []
    await importWithBeside(
      writer => writer`delete from users where id = 21`,
      { onReject: ({ line, reason }) => void rejects.push(`${line}: ${reason}`) },
      'nonsense',
      multiPart(50, [part(51, { proctor_id: 21 })]),
      educator(22, { name: 'of the file' }),
    )
    expect(rejects).toEqual([`1: ${NO_JSON}`, `2: ${missing('proctor_id', 'user 21')}`])
    expect(await idsOf(database.sql, 'users')).toContain(22)
    expect(await idsOf(database.sql, 'assessments')).toEqual([])
  })

  test('a writer waits from the comparison to the commit, and sees for what', async () => {
    const { sql } = database
    await importLines(sql, ...REFERENCED, educator(21, { name: 'n' }))
    const { importing, writing, waitedFor } = await sql.begin(async reader => {
      // The comparison has to wait for this lock.
      await reader`lock table products in access exclusive mode`
      const importing = importLines(
        sql,
        product(PRODUCT, 'of the file'),
        educator(21, { name: 'of the file' }),
      )
      await until('the import compares', async () => {
        const { count } = await reader`
          select from pg_locks where not granted and relation = 'products'::regclass`
        return count > 0
      })
      const writing = sql`update users set name = 'of SQL' where id = 21`.execute()
      let waitedFor: string[] = []
      await until('the writer waits', async () => {
        // A transaction sees the activity as it was at its first look.
        await reader`select pg_stat_clear_snapshot()`
        const rows = await reader<{ name: string }[]>`
          select b.application_name as name
          from pg_stat_activity w, unnest(pg_blocking_pids(w.pid)) as blocker join pg_stat_activity b on b.pid = blocker
          where w.query like 'update users%'`
        waitedFor = rows.map(({ name }) => name)
        return waitedFor.length > 0
      })
      return { importing, writing, waitedFor }
    })
    expect(waitedFor).toEqual(['axport import, for which writers wait'])
    expect(await importing).toMatchObject({ loaded: true })
    await writing
    const [user] = await sql`select name from users where id = 21`
    expect(user?.name).toBe('of SQL')
    expect(await staleRecords(sql)).toBeEmpty()
  })
  test('an import loads nothing if the time zone changes while its lines are read', async () => {
    const { sql } = database
    await importLines(sql, ...REFERENCED)
    const importing = importWith(
      sql,
      { halfway: async () => void (await sql`update export_state set time_zone = 'Europe/Berlin'`) },
      multiPart(30, [31]),
      multiPart(40, [41]),
    )
    expect(await importing.catch(error => error.message)).toBe(
      'nothing was loaded: the time zone was changed while the source was read: run the same command again',
    )
    await sql`update export_state set time_zone = 'UTC'`
    expect(await idsOf(sql, 'assessments')).toEqual([])
  })
})
