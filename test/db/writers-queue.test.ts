import { beforeAll, describe, expect, test } from 'bun:test'
import type { TransactionSql } from 'postgres'
import { useTestDatabase } from '../support/hooks.ts'
import { undone } from './source.ts'

/**
 * The number of times that a statement enters the queue of writers. db/read-model-writers.test.ts checks that
 * queues end.
 */

const db = useTestDatabase()
beforeAll(async () => {
  await db.sql.unsafe(`
    insert into organizations values (1, 'Organization');
    insert into products values (1, 'Product');
    insert into users (id, name) select n, 'User ' || n from generate_series(1, 9) n;
    insert into assessments select n, 1, 1, 1, now() from generate_series(1, 1000) n;
    insert into assessment_parts select n, n, 1, null, null, 2 from generate_series(1, 1000) n`)
})

describe('a writer of the source tables', () => {
  /**
   * The number of calls of each function, and of updates of export_state, in a transaction that is rolled
   * back.
   */
  const calls = (statements: string) =>
    undone(db.sql, async sql => {
      await sql`set local track_functions = 'pl'`
      const before = await counted(sql)
      await sql.unsafe(statements)
      const after = Object.entries(await counted(sql))
      return Object.fromEntries(after.map(([name, calls]) => [name, calls - (before[name] ?? 0)]))
    })

  /** The counters may include earlier transactions of this connection. */
  async function counted(sql: TransactionSql): Promise<Record<string, number>> {
    const rows = await sql<{ name: string; calls: string }[]>`
      select funcname as name, calls from pg_stat_xact_user_functions
      union all select relname, n_tup_upd from pg_stat_xact_user_tables where relname = 'export_state'`
    return Object.fromEntries(rows.map(({ name, calls }) => [name, Number(calls)]))
  }

  test.each([
    ['updates', 'update assessments set legacy_record = true'],
    ['deletes', 'delete from assessment_parts'],
    ['adds', `insert into users (id, name) select n, 'New' from generate_series(100, 1099) n`],
    ['truncates', 'truncate assessment_parts'],
  ])('enters the queue once if it %s a thousand rows', async (_, statement) => {
    expect(await calls(statement)).toMatchObject({ queue_for_export: 1 })
  })

  test('enters the queue once per table if a thousand deletes cascade', async () => {
    const { queue_for_export } = await calls('delete from assessments')
    expect(queue_for_export).toBe(2)
  })

  test('takes its turn once in any number of savepoints', async () => {
    const step = (id: number) =>
      `savepoint s; insert into users (id, name) values (${id}, 'New'); release savepoint s;`
    expect(await calls([100, 101, 102].map(step).join(''))).toMatchObject({ export_state: 1 })
  })

  test('takes its turn again after a rollback to a savepoint before its first turn', async () => {
    const script = `
      savepoint s; update users set email = 'a' where id = 9; rollback to savepoint s;
      update users set email = 'b' where id = 9`
    expect(await calls(script)).toMatchObject({ export_state: 2 })
  })
})
