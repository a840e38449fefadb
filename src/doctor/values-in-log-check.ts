import type { Sql } from 'postgres'
import { onlyRow } from '../postgres/statement.ts'
import { type Finding, ok, warning } from './finding.ts'

const CHECK = 'values in the log'

/** What decides whether Postgres logs a statement, and with how much of its values. */
const SETTINGS = [
  ...[
    'log_statement',
    'log_min_duration_statement',
    'log_min_duration_sample',
    'log_transaction_sample_rate',
  ],
  ...['log_parameter_max_length', 'log_parameter_max_length_on_error'],
]

/** Tables whose statements have searches, seids, client ids or rows of imports as values. */
const TABLES = ['export_records', 'integrations', 'access_tokens', 'users', 'assessments']

/** In place of a role: every role without settings of its own. */
const ALL = ''

/** Values by setting, by role. */
type Given = Map<string, Map<string, string>>

/** The text of a setting; undefined if it is not known. */
type ValueOf = (setting: string) => string | undefined

/**
 * Whether Postgres writes the values of statements into its own log: names that are searched for, seids, unknown client
 * ids, and the rows of imports. It looks at this role, at each role with privileges on the tables that has settings of its
 * own, and at all others.
 */
export async function checkValuesInLog(db: Sql): Promise<Finding> {
  const { database, role: own } = onlyRow(
    await db<{ database: string; role: string }[]>`
      select quote_ident(current_database()) as database, quote_ident(session_user) as role`,
  )
  const inForce = new Map((await readInForce(db)).map(({ name, ...setting }) => [name, setting]))
  const given = await readGiven(db)
  for (const [name, { value, isOfRole }] of inForce) if (isOfRole) setGiven(given, own, name, value)
  const ofAll: ValueOf = name =>
    inForce.get(name)?.isOfRole ? given.get(ALL)?.get(name) : inForce.get(name)?.value
  const others = assess(ofAll)
  const remedied: ValueOf = name => (others.toReset.includes(name) ? '0' : ofAll(name))
  const ofRoles = [...given].filter(([role]) => role !== ALL)
  const assessed = ofRoles.map(([role, settings]) => ({
    role,
    ...assess(name => settings.get(name) ?? remedied(name)),
  }))
  const bad = [{ role: ALL, ...others }, ...assessed].filter(({ toReset }) => toReset.length > 0)
  if (bad.length === 0)
    return ok(
      CHECK,
      SETTINGS.every(name => ofAll(name) !== undefined)
        ? 'Postgres writes none'
        : "Postgres writes none of this role's statements; of others it is not known, because this role has settings of its own",
    )
  const causes = bad.map(({ role, causes }) => causes.join(', ') + (role === ALL ? '' : ` of role ${role}`))
  const remedies = bad.flatMap(({ role, toReset }) => {
    const target = role === ALL ? `database ${database}` : `role ${role} in database ${database}`
    return toReset.map(setting => `alter ${target} set ${setting} = 0`)
  })
  return warning(
    CHECK,
    `Postgres writes searches, seids and imported rows into its log (${causes.join('; ')}). As a superuser: ${remedies.join('; ')}`,
  )
}

/** Which settings make Postgres log values, and which of them have to be 0. What is not known is no cause. */
function assess(textOf: ValueOf): { causes: string[]; toReset: string[] } {
  const isNumber = (name: string, number: number) => Number.parseFloat(textOf(name) ?? '') === number
  const isSet = (name: string, off: number) => textOf(name) !== undefined && !isNumber(name, off)
  const logged = [
    ...(/^(mod|all)$/i.test(textOf('log_statement') ?? '') ? ['log_statement'] : []),
    ...['log_min_duration_statement', 'log_min_duration_sample'].filter(name => isSet(name, -1)),
    ...(isSet('log_transaction_sample_rate', 0) ? ['log_transaction_sample_rate'] : []),
  ]
  const causes = isSet('log_parameter_max_length', 0) ? logged : []
  const ofErrors = isSet('log_parameter_max_length_on_error', 0) ? ['log_parameter_max_length_on_error'] : []
  return {
    causes: [...causes, ...ofErrors],
    toReset: [...(causes.length > 0 ? ['log_parameter_max_length'] : []), ...ofErrors],
  }
}

/** The settings in force on this connection, and whether its role or its options set them. */
const readInForce = (db: Sql) =>
  db<{ name: string; value: string; isOfRole: boolean }[]>`
    select name, setting as value, source in ('user', 'database user', 'client', 'session') as "isOfRole"
    from pg_settings where name = any (${SETTINGS})`

/** What `alter role` has set for roles with privileges on the tables, and `alter database` for all. */
async function readGiven(db: Sql): Promise<Given> {
  const rows = await db<{ role: string; name: string; value: string }[]>`
    select distinct on (role, name) coalesce(quote_ident(r.rolname), ${ALL}) as role,
      split_part(config, '=', 1) as name, substr(config, strpos(config, '=') + 1) as value
    from pg_db_role_setting s cross join unnest(s.setconfig) as config left join pg_roles r on r.oid = s.setrole
    where s.setdatabase in (0, (select oid from pg_database where datname = current_database()))
      and split_part(config, '=', 1) = any (${SETTINGS})
      and (
        s.setrole = 0
        or r.rolcanlogin and exists (
          select from unnest(${TABLES}::text[]) as t
          join pg_class c on c.oid = to_regclass(t)
          cross join aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) as granted
          -- A superuser has every privilege, and is meant only if it owns the tables or was granted one.
          where r.oid = granted.grantee
            or granted.grantee <> 0 and not r.rolsuper and pg_has_role(r.oid, granted.grantee, 'usage')
        )
      )
    order by role, name, s.setdatabase desc`
  const given: Given = new Map()
  for (const { role, name, value } of rows) setGiven(given, role, name, value)
  return given
}

function setGiven(given: Given, role: string, name: string, value: string): void {
  given.set(role, (given.get(role) ?? new Map()).set(name, value))
}
