import type { Sql } from 'postgres'
import { firstThree } from '../errors.ts'
import { type Finding, ok, warning, wrong } from './finding.ts'

const SOURCE = ['organizations', 'products', 'users', 'assessments', 'assessment_parts']
const CHANGES = ['inserted', 'updated', 'deleted', 'truncated']

/** What goes wrong without a trigger, and what mends that when it is there again. */
type Harm = 'export' | 'scopes' | 'history' | 'erasures'

/** The triggers that the migrations make, and what misses something without them. */
const TRIGGERS: { table: string; name: string; harm: Harm }[] = [
  ...SOURCE.flatMap(table =>
    ['queue', ...CHANGES].map(name => ({ table, name: `${table}_${name}`, harm: 'export' as const })),
  ),
  ...CHANGES.flatMap(name => [name, `${name}_counted`]).map(name => ({
    table: 'export_records',
    name: `export_records_${name}`,
    harm: 'export' as const,
  })),
  { table: 'export_state', name: 'export_state_time_zone_changed', harm: 'export' },
  { table: 'integrations', name: 'integrations_order_scope', harm: 'scopes' },
  ...['integrations', 'integration_secrets'].flatMap(table =>
    ['history', 'history_truncated'].map(name => ({
      table,
      name: `${table}_${name}`,
      harm: 'history' as const,
    })),
  ),
  { table: 'integration_history', name: 'integration_history_append_only', harm: 'history' },
  ...['users', 'assessments'].flatMap(table =>
    ['inserted', 'updated'].map(name => ({
      table,
      name: `${table}_erased_${name}`,
      harm: 'erasures' as const,
    })),
  ),
]

const HARM: Record<Harm, string> = {
  export: 'what is written there does not reach the export',
  scopes: 'scopes are stored out of order',
  history: 'what is done there is not kept in the history of integrations',
  erasures: 'people who were erased may come back',
}

/** Changes that were not written meanwhile are in no history; integrations that came meanwhile are found. */
const CURE: Partial<Record<Harm, string>> = {
  export: 'axport refresh',
  history: 'select note_found_integrations()',
  // The trigger brings the sets of each row that is written into order, in which scopes are searched.
  scopes: 'update integrations set organization_ids = organization_ids, product_ids = product_ids',
}

/** Whether all that is written passes the triggers by which the export follows: at once, whatever the tables hold. */
export async function checkTriggers(db: Sql): Promise<Finding[]> {
  const findings = [
    ...(await missingTriggers(db)),
    ...(await disabledTriggers(db)),
    ...(await sessionsWithoutTriggers(db)),
    ...(await subscriptions(db)),
  ]
  return findings.length > 0
    ? findings
    : [ok('triggers', 'all there and on, and nobody replicates past them')]
}

function wrongTriggers(detail: string, then: string[]): Finding {
  return wrong('triggers', then.length > 0 ? `${detail}; then ${then.join(', and ')}` : detail)
}

const harmsOf = (names: string[]): Harm[] => [
  ...new Set(TRIGGERS.filter(({ name }) => names.includes(name)).map(({ harm }) => harm)),
]

const curesOf = (names: string[]): string[] => harmsOf(names).flatMap(harm => CURE[harm] ?? [])

async function missingTriggers(db: Sql): Promise<Finding[]> {
  const rows = await db<{ name: string }[]>`
    select e.name from json_to_recordset(${JSON.stringify(TRIGGERS)}::text::json) as e ("table" text, name text)
    left join pg_trigger t on t.tgrelid = to_regclass(e.table) and t.tgname = e.name
    where t.oid is null`
  if (rows.length === 0) return []
  const names = rows.map(({ name }) => name)
  const detail = `missing: ${firstThree(names)}: make them again, as the migrations in db/migrations do`
  return [wrongTriggers(detail, curesOf(names))]
}

/** Also those by which the server checks references, which "disable trigger all" turns off with the others. */
async function disabledTriggers(db: Sql): Promise<Finding[]> {
  const rows = await db<{ table: string; which: string; names: string[] }[]>`
    select c.oid::regclass::text as table, case when bool_or(t.tgisinternal) then 'all' else 'user' end as which,
      array_agg(t.tgname::text order by t.tgname) as names
    from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where t.tgenabled not in ('O', 'A')
      and t.tgrelid in (select to_regclass(name) from unnest(${TRIGGERS.map(({ table }) => table)}::text[]) as name)
    group by c.oid order by 1`
  return rows.map(({ table, which, names }) => {
    const harm = harmsOf(names).map(harm => HARM[harm])
    const detail = [`some of ${table} are disabled`, ...harm].join(', and ')
    return wrongTriggers(`${detail}: alter table ${table} enable trigger ${which}`, curesOf(names))
  })
}

/** Settings by which every session of a role, or of the database, fires none of our triggers. */
async function sessionsWithoutTriggers(db: Sql): Promise<Finding[]> {
  const rows = await db<{ statement: string }[]>`
    select case
        when setdatabase = 0 then format('alter role %s reset session_replication_role', role.name)
        when setrole = 0 then format('alter database %I reset session_replication_role', current_database())
        else format('alter role %s in database %I reset session_replication_role', role.name, current_database())
      end as statement
    from pg_db_role_setting
    cross join lateral (select case when setrole = 0 then 'all' else setrole::regrole::text end as name) as role
    where setdatabase in (0, (select oid from pg_database where datname = current_database()))
      and 'session_replication_role=replica' = any (setconfig)
    order by statement`
  return rows.map(({ statement }) =>
    wrongTriggers(`sessions with session_replication_role = replica fire none: ${statement}`, [
      'axport refresh',
    ]),
  )
}

/** What a copy of the read model has of records. */
const COPIED = ['export_records', 'export_counts']

/** The apply worker of a subscription fires no triggers of statements. A copy of the read model needs none. */
async function subscriptions(db: Sql): Promise<Finding[]> {
  const rows = await db<{ name: string; tables: string[] }[]>`
    select s.subname as name, array_agg(r.srrelid::regclass::text order by 1) as tables
    from pg_subscription_rel r join pg_subscription s on s.oid = r.srsubid
    where r.srrelid in (select to_regclass(name) from unnest(${[...SOURCE, ...COPIED]}::text[]) as name)
      and exists (
        select from unnest(${COPIED}::text[]) as name
        where to_regclass(name) not in (select srrelid from pg_subscription_rel whole where whole.srsubid = s.oid)
      )
    group by s.subname order by name`
  return rows.map(({ name, tables }) =>
    warning(
      'triggers',
      `the subscription ${name} writes ${firstThree(tables)} past the triggers: let it write tables of your own and import from ` +
        'those, or run axport refresh after it',
    ),
  )
}
