import { sql } from 'drizzle-orm'
import { rowsOf, texts } from '../database/orm.ts'
import { onlyRow } from '../database/statement.ts'
import { disabledTriggers } from '../tables/load-session.ts'
import { type Answer, type Db, ok, wrong } from './answer.ts'

/** Whether writes fire the triggers that render the export: which are disabled, and whether sessions of this role skip all. */
export async function whatSkipsTriggers(db: Db): Promise<Answer[]> {
  const names = await tablesOf(db)
  const disabled = await disabledTriggers(db, names)
  const answers = disabled.map(({ table, which }) =>
    wrong(
      `triggers of ${table} are disabled, and what they keep does not follow writes: alter table ${table} enable ` +
        `trigger ${which}, then axport refresh`,
    ),
  )
  const session = await doesSessionFireTriggers(db)
  if (session.status === 'wrong') answers.push(session)
  return answers.length > 0 ? answers : [session]
}

/** Whether sessions of this role fire triggers. `serve` refuses to start if they fire none. */
export async function doesSessionFireTriggers(db: Db): Promise<Answer> {
  const { setting, source } = onlyRow(
    await rowsOf<{ setting: string; source: string }>(
      db,
      sql`
      select setting, source from pg_settings where name = 'session_replication_role'`,
    ),
  )
  if (setting !== 'replica') return ok('enabled')
  return wrong(
    `this session has session_replication_role = replica (from: ${source}), and fires no triggers: remove it ` +
      'there, then axport refresh',
  )
}

/** Whether row security hides rows from this role: pages would lack records, and nobody would notice. */
export async function whatHidesRows(db: Db): Promise<Answer> {
  const hidden = await rowsOf<{ name: string }>(
    db,
    sql`
    select name from unnest(${texts(await tablesOf(db))}) as name where row_security_active(to_regclass(name)::oid)
    order by name`,
  )
  const tables = hidden.map(({ name }) => name)
  if (tables.length === 0) return ok('hides nothing from this role')
  return wrong(
    `may hide rows of ${tables.join(', ')} from this role: ` +
      tables.map(table => `alter table ${table} disable row level security`).join('; '),
  )
}

/** The names of all tables in the schema. */
async function tablesOf(db: Db): Promise<string[]> {
  const rows = await rowsOf<{ name: string }>(
    db,
    sql`
    select relname::text as name from pg_class
    where relnamespace = quote_ident(current_schema())::regnamespace and relkind in ('r', 'p')`,
  )
  return rows.map(({ name }) => name)
}
