import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import postgres, { type Sql } from 'postgres'
import { useTestDatabase } from '../support/hooks.ts'
import { until } from '../support/until.ts'

/** Two transactions, held open across each other; and how often a statement queues. */

const db = useTestDatabase()
let one: Sql
let other: Sql

beforeAll(async () => {
  // A deadlock is looked for at once, not after a second of waiting.
  const options = { max: 1, onnotice: () => {}, connection: { deadlock_timeout: 20 } }
  one = postgres(db.url, options)
  other = postgres(db.url, options)
})
afterAll(async () => {
  await one.end()
  await other.end()
})
beforeEach(async () => {
  await db.sql.unsafe(`
    delete from assessments; delete from organizations; delete from products; delete from users;
    insert into organizations select n, 'Organization ' || n from generate_series(1, 9) n;
    insert into products select n, 'Product ' || n from generate_series(1, 9) n;
    insert into users (id, name) select n, 'User ' || n from generate_series(1, 9) n;
    insert into assessments select n, 1, 1, 1, now() from generate_series(1, 1000) n;
    insert into assessment_parts select n, n, 1, null, null, 2 from generate_series(1, 1000) n`)
})

const untilOneWaits = () =>
  until('one waits for a lock', async () => {
    const { count } = await db.sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    return count
  })

/** Each does its two statements; the other begins while one is in the middle. The codes of their errors. */
async function cross(
  [first, second]: [string, string],
  [otherFirst, otherSecond]: [string, string],
): Promise<(string | undefined)[]> {
  await one`begin`
  await one.unsafe(first)
  const others = codeOf(async () => {
    await other`begin`
    await other.unsafe(otherFirst)
    await other.unsafe(otherSecond)
  })
  await untilOneWaits()
  const ones = await codeOf(() => one.unsafe(second))
  await one`commit`
  const codes = [ones, await others]
  await other`commit`
  return codes
}

/** undefined for what succeeds. */
async function codeOf(work: () => Promise<unknown>): Promise<string | undefined> {
  return await work().then(
    () => undefined,
    error => error.code,
  )
}

describe('two writers in opposite order', () => {
  const TABLES = ['organizations', 'products', 'users']
  const rename = (table: string, id: number) => `update ${table} set name = name || '!' where id = ${id}`

  test.each(TABLES)('of two rows of %s both commit', async table => {
    const outcomes = await cross([rename(table, 1), rename(table, 2)], [rename(table, 2), rename(table, 1)])
    expect(outcomes).toEqual([undefined, undefined])
  })

  test('of rows of two tables both commit', async () => {
    const assessment = 'update assessments set legacy_record = true where id = 1'
    const part = 'update assessment_parts set proctor_id = 3 where id = 1'
    expect(await cross([rename('users', 1), assessment], [assessment, rename('users', 1)])).toEqual([
      undefined,
      undefined,
    ])
    expect(await cross([part, rename('organizations', 1)], [rename('organizations', 1), part])).toEqual([
      undefined,
      undefined,
    ])
  })

  test('of the same new row both come to an end, one by the unique id and none by a deadlock', async () => {
    const add = `insert into users (id, name) values (50, 'New')`
    expect(await cross([rename('users', 1), add], [add, rename('users', 1)])).toEqual([undefined, '23505'])
  })
})

describe('a writer', () => {
  /** How often each function was called by statements in one transaction. */
  async function calls(statements: string): Promise<Record<string, number>> {
    await one`begin`
    await one`set local track_functions = 'pl'`
    const before = await counted()
    await one.unsafe(statements)
    const after = await counted()
    await one`rollback`
    return Object.fromEntries(
      Object.entries(after).map(([name, calls]) => [name, calls - (before[name] ?? 0)]),
    )
  }

  /** What earlier transactions did may be among it. */
  async function counted(): Promise<Record<string, number>> {
    const rows = await one<{ funcname: string; calls: string }[]>`
      select funcname, calls from pg_stat_xact_user_functions`
    return Object.fromEntries(rows.map(({ funcname, calls }) => [funcname, Number(calls)]))
  }

  test.each([
    ['updates', 'update assessments set legacy_record = true'],
    ['deletes', 'delete from assessment_parts'],
    ['adds', `insert into users (id, name) select n, 'New' from generate_series(100, 1099) n`],
    ['truncates', 'truncate assessment_parts'],
  ])('queues once when it %s a thousand rows', async (_, statement) => {
    expect(await calls(statement)).toMatchObject({ queue_for_export: 1 })
  })

  test('queues once a table when a thousand deletes cascade', async () => {
    const { queue_for_export } = await calls('delete from assessments')
    expect(queue_for_export).toBe(2)
  })

  test('joins the queue once, whatever it does in how many savepoints', async () => {
    const step = (id: number) =>
      `savepoint s; insert into users (id, name) values (${id}, 'New'); release savepoint s;`
    const { queue_for_export, lock_export } = await calls([100, 101, 102].map(step).join(''))
    expect({ queue_for_export, lock_export }).toEqual({ queue_for_export: 3, lock_export: 1 })
  })

  test('joins it again after it went back to before it had', async () => {
    const script = `
      savepoint s; update users set email = 'a' where id = 9; rollback to savepoint s;
      update users set email = 'b' where id = 9`
    const { queue_for_export, lock_export } = await calls(script)
    expect({ queue_for_export, lock_export }).toEqual({ queue_for_export: 2, lock_export: 2 })
  })
})
