import type { Sql } from 'postgres'
import { firstThree } from '../errors.ts'
import { type Finding, ok, warning, wrong } from './finding.ts'

const SOURCE = ['organizations', 'products', 'users', 'assessments', 'assessment_parts']
const CHANGES = ['inserted', 'updated', 'deleted', 'truncated']

/** The triggers that the migrations make, without which the export misses what is written. */
const TRIGGERS = [
  ...SOURCE.flatMap(table => ['queue', ...CHANGES].map(name => ({ table, name: `${table}_${name}` }))),
  ...CHANGES.map(name => ({ table: 'export_records', name: `export_records_${name}` })),
  { table: 'export_state', name: 'export_state_time_zone_changed' },
  { table: 'integrations', name: 'integrations_order_scope' },
]

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

const wrongTriggers = (detail: string, then = 'axport refresh') =>
  wrong('triggers', `${detail}; then ${then}`)

/** The trigger brings the sets of each row that is written into order, in which scopes are searched. */
const ORDER_SCOPES = 'update integrations set organization_ids = organization_ids, product_ids = product_ids'

async function missingTriggers(db: Sql): Promise<Finding[]> {
  const rows = await db<{ name: string }[]>`
    select e.name from json_to_recordset(${JSON.stringify(TRIGGERS)}::text::json) as e ("table" text, name text)
    left join pg_trigger t on t.tgrelid = to_regclass(e.table) and t.tgname = e.name
    where t.oid is null`
  if (rows.length === 0) return []
  const names = rows.map(({ name }) => name)
  const isOfScopes = (name: string) => name === 'integrations_order_scope'
  const cures = [
    ...(names.every(isOfScopes) ? [] : ['axport refresh']),
    ...(names.some(isOfScopes) ? [ORDER_SCOPES] : []),
  ]
  const detail = `missing: ${firstThree(names)}: make them again, as the migrations in db/migrations do`
  return [wrongTriggers(detail, cures.join(', and '))]
}

/** Also those by which the server checks references, which "disable trigger all" turns off with the others. */
async function disabledTriggers(db: Sql): Promise<Finding[]> {
  const rows = await db<{ name: string; which: string }[]>`
    select c.oid::regclass::text as name, case when bool_or(t.tgisinternal) then 'all' else 'user' end as which
    from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where t.tgenabled not in ('O', 'A')
      and t.tgrelid in (select to_regclass(name) from unnest(${TRIGGERS.map(({ table }) => table)}::text[]) as name)
    group by c.oid order by name`
  return rows.map(({ name, which }) => {
    const enable = `alter table ${name} enable trigger ${which}`
    return name === 'integrations'
      ? wrongTriggers(
          `some of integrations are disabled, and scopes are stored out of order: ${enable}`,
          ORDER_SCOPES,
        )
      : wrongTriggers(
          `some of ${name} are disabled, and what is written there does not reach the export: ${enable}`,
        )
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
    wrongTriggers(`sessions with session_replication_role = replica fire none: ${statement}`),
  )
}

/** The apply worker of a subscription fires no triggers of statements. A copy of the read model needs none. */
async function subscriptions(db: Sql): Promise<Finding[]> {
  const rows = await db<{ name: string; tables: string[] }[]>`
    select s.subname as name, array_agg(r.srrelid::regclass::text order by 1) as tables
    from pg_subscription_rel r join pg_subscription s on s.oid = r.srsubid
    where r.srrelid in (select to_regclass(name) from unnest(${SOURCE}::text[]) as name)
      and not exists (
        select from pg_subscription_rel whole
        where whole.srsubid = s.oid and whole.srrelid = to_regclass('export_records')
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
