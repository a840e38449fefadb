import { sql } from 'drizzle-orm'
import type { Sql, TransactionSql } from 'postgres'
import { SOURCE_TABLES } from '../../db/schema.ts'
import { Failure } from '../errors.ts'
import { rowsOf } from './orm.ts'
import { onlyRow } from './statement.ts'

/**
 * Refuses to write in a session that fires no triggers: with session_replication_role = replica, set for the database or the
 * role, nothing would be rendered or kept from coming back.
 * @param undone the beginning of the message
 */
export async function requireFiringTriggers(db: Sql | TransactionSql, undone: string): Promise<void> {
  const { role } = onlyRow(
    await rowsOf<{ role: string }>(db, sql`select current_setting('session_replication_role') as role`),
  )
  if (role === 'replica')
    throw new Failure(
      `${undone}: with session_replication_role = replica this session fires no triggers, and the export would not follow: axport doctor says where that is set`,
    )
}

/**
 * Refuses a load while a trigger of the schema is disabled on a table that it writes, or if its session fires none:
 * nothing would be rendered.
 * @param undone the beginning of the message
 * @throws Failure with the statement that enables the triggers
 */
export async function requireTriggers(sql: TransactionSql, undone: string): Promise<void> {
  await requireFiringTriggers(sql, undone)
  for (const { table, which, names } of await disabledTriggers(sql, [...SOURCE_TABLES, 'export_records']))
    if (names.some(name => name.startsWith(`${table}_`)))
      throw new Failure(
        `${undone}: triggers of ${table} are disabled, and the export would not follow: alter table ${table} enable trigger ${which}, then axport refresh`,
      )
}

/** Finds the disabled triggers of tables. `which` enables them: "all" includes those that check foreign keys. */
export async function disabledTriggers(db: Sql | TransactionSql, tables: string[]) {
  return await db<{ table: string; which: 'all' | 'user'; names: string[] }[]>`
    select c.relname::text as table, case when bool_or(t.tgisinternal) then 'all' else 'user' end as which,
      array_agg(t.tgname::text order by t.tgname) as names
    from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where t.tgenabled not in ('O', 'A') and c.oid in (select to_regclass(name) from unnest(${tables}::text[]) as name)
    group by c.oid, c.relname order by 1`
}
