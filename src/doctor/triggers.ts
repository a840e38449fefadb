import { sql } from 'drizzle-orm'
import { TRIGGERS } from '../../db/schema.ts'
import { rowsOf, texts } from '../database/orm.ts'
import { compareSchema } from '../database/schema-record.ts'
import { onlyRow } from '../database/statement.ts'
import { disabledTriggers } from '../database/triggers.ts'
import { type Db, type Outcome, ok, wrong } from './finding.ts'
import { homeOf } from './tables.ts'

/**
 * Whether writes fire the triggers that render the export and keep the history: which are missing or disabled, and
 * whether sessions of this role skip all.
 */
export async function whatSkipsTriggers(db: Db): Promise<Outcome[]> {
  const session = await doesSessionFireTriggers(db)
  const home = await homeOf(db)
  if (home === undefined) return [session]
  const tables = [...new Set(TRIGGERS.flatMap(({ tables }) => tables))]
  const disabled = await disabledTriggers(
    db,
    tables.map(table => `${home}.${table}`),
  )
  const found = disabled.map(({ table, which }) =>
    wrong(
      `triggers of ${table} are disabled, and what they keep does not follow writes: alter table ${table} enable ` +
        `trigger ${which}, then axport refresh`,
    ),
  )
  found.push(...(await whichAreMissing(db, home)))
  if (session.status === 'wrong') found.push(session)
  return found.length > 0 ? found : [session]
}

/** Those that a schema of this program has. A schema that is ahead may have others. */
async function whichAreMissing(db: Db, home: string): Promise<Outcome[]> {
  if ((await compareSchema(db)).ahead.length > 0) return []
  const all = TRIGGERS.flatMap(({ migration, tables, suffixes }) =>
    tables.flatMap(table => suffixes.map(suffix => ({ migration, table, name: `${table}_${suffix}` }))),
  )
  const column = (key: keyof (typeof all)[number]) => texts(all.map(trigger => trigger[key]))
  const rows = await rowsOf<{ migration: string; table: string; name: string }>(
    db,
    sql`
    select migration, "table", name
    from unnest(${column('migration')}, ${column('table')}, ${column('name')}) as wanted (migration, "table", name)
    where not exists (
      select from pg_trigger where tgrelid = to_regclass(${home}::text || '.' || "table") and tgname = name
    ) order by name`,
  )
  return rows.map(({ migration, table, name }) =>
    wrong(
      `the trigger ${name} of ${table} is missing, and what it keeps does not follow writes: create it as ` +
        `db/migrations/${migration}.sql does, then axport refresh`,
    ),
  )
}

/** Whether sessions of this role fire triggers. `serve` refuses to start if they fire none. */
export async function doesSessionFireTriggers(db: Db): Promise<Outcome> {
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
