import type { Sql } from 'postgres'
import { READ_MODEL, SOURCE_TABLES } from '../../db/schema.ts'
import { firstThree } from '../errors.ts'
import { MIGRATIONS } from '../postgres/schema/migrations.ts'
import { disabledTriggers } from '../tables/load-session.ts'
import { compareCounts, compareRows } from '../tables/read-model.ts'
import { canRead, type Finding, ok, skipped, warning, wrong } from './finding.ts'

/** Whether the read model equals its source: in 1,000 random ids of each table, or (`full`) in every row and count. */
export async function checkReadModel(db: Sql, full: boolean): Promise<Finding> {
  const tables = READ_MODEL.flatMap(({ table, source }) => [source, table, `${table}_rendered`])
  if (!(await canRead(db, ...tables, 'export_counts')))
    return skipped('read model', 'this role cannot read the source tables: run doctor as their owner')
  const compared: string[] = []
  let isWhole = true
  for (const part of READ_MODEL) {
    const ids = db`select id from ${db(part.source)} union select ${db(part.id)} from ${db(part.table)}`
    const sample = full ? undefined : db`order by random() limit 1000`
    const found = await compareRows(db, part, ids, sample)
    const { rows, offered, first } = found
    const different = found.missing + found.outdated + found.left_over
    const what = found.compared < offered ? `${rows} of ${offered} ${part.rows}` : `all ${rows} ${part.rows}`
    const differ = different === 1 ? 'differs from its source' : 'differ from their source'
    if (different > 0)
      return wrong(
        'read model',
        `${different} of ${what} ${differ}, as ${part.source.slice(0, -1)} ${first}: axport refresh renders all of them anew`,
      )
    compared.push(what)
    isWhole &&= found.compared === offered
  }
  if (full) {
    const { compared, missing, outdated, left_over, organizations } = await compareCounts(db, undefined)
    const different = missing + outdated + left_over
    if (different > 0)
      return wrong(
        'read model',
        `${different} of ${compared} counts differ, of organization ${firstThree(organizations)}: axport refresh counts anew`,
      )
  }
  const unknown = isWhole ? '' : '; not every row was compared, axport doctor --full does that'
  return ok('read model', `${compared[0]}, equal to their source${unknown}`)
}

/** The triggers that the migrations create, with their tables. One statement creates those of all source tables. */
const TRIGGERS = new Map<string, string>()
for (const { sql } of MIGRATIONS)
  for (const [, name = '', table = ''] of sql.matchAll(/^create trigger (\w+)[^;]*? on (\w+)/gm))
    TRIGGERS.set(name, table)
for (const table of SOURCE_TABLES)
  for (const event of ['queue', 'inserted', 'updated', 'deleted', 'truncated'])
    TRIGGERS.set(`${table}_${event}`, table)

/**
 * By the name of the trigger, the first match counts: the harm of writes without the trigger, and the statement or
 * command that repairs the data afterwards. The history gets integrations that were created meanwhile, no other changes.
 */
const HARMS: [trigger: RegExp, harm: string, repair?: string][] = [
  [/_erased_/, 'people who were erased may come back'],
  [/history/, 'changes there are missing in the history of integrations', 'select note_found_integrations()'],
  [
    /^integrations_/,
    'scopes are stored out of order',
    // The trigger sorts the sets of each row that is written: scopes are searched in that order.
    'update integrations set organization_ids = organization_ids, product_ids = product_ids',
  ],
  [/^access_tokens_/, 'no tokens can be issued'],
  [
    /^integration_secrets_/,
    'tokens may outlive the grace of their secret',
    // The trigger fires, and ends the tokens that it has not ended.
    'update integration_secrets set expires_at = expires_at',
  ],
  [/./, 'changes there do not reach the export', 'axport refresh'],
]

/** The harms of writes without these triggers, each once, and the repairs; triggers of other programs have none. */
function harmsOf(names: string[]): { harms: string[]; repairs: string } {
  const own = [...TRIGGERS.keys()].filter(name => names.includes(name))
  const found = [...new Set(own.map(name => HARMS.find(([trigger]) => trigger.test(name)) ?? []))]
  const repairs = found.flatMap(([, , repair]) => repair ?? []).join(', and ')
  return { harms: found.flatMap(([, harm]) => harm ?? []), repairs: repairs && `; then ${repairs}` }
}

/** A subscription that copies these tables copies the read model with them. */
const COPIED = ['export_records', 'export_counts']

/** Finds triggers that are missing or disabled, and writers that fire none. It reads the catalog alone. */
export async function checkTriggers(db: Sql): Promise<Finding[]> {
  const missing = await db<{ names: string[] }[]>`
    select array_agg(e.name) as names
    from unnest(${[...TRIGGERS.keys()]}::text[], ${[...TRIGGERS.values()]}::text[]) as e (name, "table")
    left join pg_trigger t on t.tgrelid = to_regclass(e.table) and t.tgname = e.name
    where t.oid is null
    having count(*) > 0`
  const disabled = await disabledTriggers(db, [...TRIGGERS.values()])
  // Settings of a role or of the database with which a session fires none of these triggers.
  const sessions = await db<{ whose: string }[]>`
    select case setrole when 0 then 'all' else setrole::regrole::text end
      || case setdatabase when 0 then '' else format(' in database %I', current_database()) end as whose
    from pg_db_role_setting
    where setdatabase in (0, (select oid from pg_database where datname = current_database()))
      and 'session_replication_role=replica' = any (setconfig)
    order by whose`
  const [own] = await db`
    select from pg_settings
    where name = 'session_replication_role' and setting = 'replica' and source not in ('database', 'user', 'database user')`
  // The apply worker of a subscription fires no statement triggers. A copy of the read model needs none.
  const subscriptions = await db<{ name: string; tables: string[] }[]>`
    select s.subname as name, array_agg(c.relname::text order by c.relname) as tables
    from pg_subscription_rel r join pg_subscription s on s.oid = r.srsubid join pg_class c on c.oid = r.srrelid
    where r.srrelid in (select to_regclass(name) from unnest(${[...SOURCE_TABLES, ...COPIED]}::text[]) as name)
    group by s.subname
    having not array_agg(c.relname::text) @> ${COPIED}::text[]
    order by name`
  const findings = [
    ...missing.map(({ names }) =>
      wrong(
        'triggers',
        `missing: ${firstThree(names)}: create them again, as db/migrations does${harmsOf(names).repairs}`,
      ),
    ),
    ...disabled.map(({ table, which, names }) => {
      const { harms, repairs } = harmsOf(names)
      const state = [`some triggers of ${table} are disabled`, ...harms].join(', and ')
      return wrong('triggers', `${state}: alter table ${table} enable trigger ${which}${repairs}`)
    }),
    ...sessions.map(({ whose }) =>
      wrong(
        'triggers',
        `sessions with session_replication_role = replica fire no triggers: alter role ${whose} reset session_replication_role; then axport refresh`,
      ),
    ),
    ...(own
      ? [
          wrong(
            'triggers',
            'the session of doctor itself has session_replication_role = replica, from the configuration of the server or from DATABASE_URL, and fires no triggers: remove it there; then axport refresh',
          ),
        ]
      : []),
    ...subscriptions.map(({ name, tables }) =>
      warning(
        'triggers',
        `the subscription ${name} writes ${firstThree(tables)} past the triggers: let it write tables of your own and import from those, or run axport refresh after it`,
      ),
    ),
  ]
  if (findings.length > 0) return findings
  return [ok('triggers', 'all present and enabled, and no subscription or session bypasses them')]
}
