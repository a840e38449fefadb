import { sql } from 'drizzle-orm'
import type { Sql, TransactionSql } from 'postgres'
import load from '../../db/grants/load.sql' with { type: 'text' }
import serve from '../../db/grants/serve.sql' with { type: 'text' }
import { Failure, firstThree } from '../errors.ts'
import { LOCKS } from './advisory-locks.ts'
import { rowsOf, texts } from './orm.ts'
import { requirePath } from './search-path.ts'
import { onlyRow } from './statement.ts'
import { type CommandSql, transact } from './transact.ts'

/** Work that a role of its own can do. */
export interface Work {
  command: 'serve' | 'import'
  /** The option of axport migrate that grants it. */
  option: string
  /** A script for psql, which gives a role what the work needs, and takes everything else. */
  script: string
}

export const SERVE: Work = { command: 'serve', option: '--grant', script: serve }
export const LOAD: Work = { command: 'import', option: '--grant-loader', script: load }

/**
 * Gives a role what its work needs, and takes everything else that it was granted in this schema. It is to be repeated
 * after every upgrade, and can run twice at once.
 * @throws Failure, and changes nothing, for a role that does not exist, or that can do everything anyway; and if the user
 * of this command cannot grant something
 */
export async function grantFor(db: CommandSql, role: string, work: Work): Promise<void> {
  await transact(db, async client => {
    // Of two transactions that change the privileges of one table at the same moment, Postgres fails one.
    await rowsOf(client, sql`select pg_advisory_xact_lock(${LOCKS.schema})`)
    await client.unsafe(withNames(work.script, await namesFor(client, role)))
    // For a privilege that the user has and may not grant, Postgres only warns.
    const missing = await missingPrivileges(client, work, role)
    if (missing.length > 0)
      throw new Failure(
        `${role} would still lack ${firstThree(missing)}: run this command as the owner of the tables`,
      )
  })
}

/** What psql would do with a script: without its own commands, for a transaction around it, and with names for variables. */
function withNames(script: string, names: Record<string, string>): string {
  return script
    .replaceAll(/^(\\.*|begin;|commit;)$/gm, '')
    .replaceAll(/:("\w+"|'\w+')/g, (_, variable: string) => names[variable] ?? '')
}

/** The variables of a script as it quotes them, each with what Postgres makes of it. @throws Failure for a role that must not be granted anything */
async function namesFor(client: TransactionSql, role: string): Promise<Record<string, string>> {
  const { isThere, power, name, literal, schema, database } = onlyRow(
    await rowsOf<
      Record<'name' | 'literal' | 'schema' | 'database', string> & { isThere: boolean; power: string | null }
    >(
      client,
      sql`
      select quote_ident(${role}) as name, quote_literal(${role}) as literal, quote_ident(current_schema()) as schema,
        quote_ident(current_database()) as database,
        r.oid is not null as "isThere",
        case
          when rolsuper then 'is a superuser'
          when exists (select from pg_class where relnamespace = n.oid and relowner = r.oid)
            or exists (select from pg_proc where pronamespace = n.oid and proowner = r.oid)
            then 'owns tables or functions of this schema'
        end as power
      from pg_namespace n left join pg_roles r on rolname = ${role} where nspname = current_schema()`,
    ),
  )
  if (!isThere)
    throw new Failure(`there is no role ${role}: create it with create role ${name} login password '…'`)
  if (power !== null)
    throw new Failure(`${role} ${power}, and can do everything: grant this to a role of its own`)
  return { '"role"': name, "'role'": literal, '"schema"': schema, '"DBNAME"': database }
}

/**
 * What a role lacks for its work, as "select on users". A table or a function that does not exist is a matter of the
 * schema.
 * @param role the role of the connection by default
 */
export async function missingPrivileges(
  db: Sql | TransactionSql,
  { script }: Work,
  role?: string,
): Promise<string[]> {
  const needs = needsOf(script)
  const column = (key: keyof Need) => needs.map(need => need[key])
  const rows = await rowsOf<{ label: string }>(
    db,
    sql`
    select label
    from unnest(
      ${texts(column('privilege'))}, ${texts(column('column'))}, ${texts(column('kind'))}, ${texts(column('object'))},
      ${texts(column('label'))}
    ) with ordinality as need (privilege, only_column, kind, object, label, number)
    cross join (select coalesce(${role ?? null}, current_user)::name as role) as asked
    where not case kind
      when 'database' then has_database_privilege(role, current_database(), privilege)
      when 'schema' then coalesce(has_schema_privilege(role, current_schema(), privilege), false)
      when 'function' then has_function_privilege(role, to_regprocedure(object), privilege)
      when 'column' then has_column_privilege(role, to_regclass(object), only_column, privilege)
      else has_table_privilege(role, to_regclass(object), privilege)
    end
    order by number`,
  )
  return rows.map(({ label }) => label)
}

/** A privilege that a script grants. */
interface Need {
  privilege: string
  kind: 'database' | 'schema' | 'function' | 'table' | 'column'
  object: string
  column: string | null
  /** As messages name it. */
  label: string
}

/** Reads the grants of a script: each is one line, for several tables or for one object of another kind. */
function needsOf(script: string): Need[] {
  const grants = script.matchAll(/^grant (.+) on (?:(database|schema|function) )?(.+) to :"role";$/gm)
  return [...grants].flatMap(([, privileges = '', type, names = '']) =>
    [...privileges.matchAll(/(\w+)(?: \((\w+)\))?/g)].flatMap(([what, privilege = '', column = null]) => {
      const kind = (type ?? (column === null ? 'table' : 'column')) as Need['kind']
      const need = (object: string, named: string): Need => ({
        ...{ privilege, kind, object, column },
        label: `${what} on ${named}`,
      })
      if (kind === 'function') return need(names, `function ${names}`)
      if (kind === 'database' || kind === 'schema') return need('', `the ${kind}`)
      return names.split(', ').map(table => need(table, table))
    }),
  )
}

/** Refuses a role that lacks privileges. @throws Failure that names them, and the command that grants them; as requirePath() */
export async function requirePrivileges(db: Sql, work: Work): Promise<void> {
  const missing = await missingPrivileges(db, work)
  if (missing.length === 0) return
  await requirePath(db)
  const role = await currentRole(db)
  throw new Failure(
    `the role ${role} lacks ${firstThree(missing)}: run axport migrate ${work.option} ${role} as the owner of the tables`,
  )
}

/** The role of the connections. */
export async function currentRole(db: Sql | TransactionSql): Promise<string> {
  return onlyRow(await rowsOf<{ name: string }>(db, sql`select current_user as name`)).name
}
