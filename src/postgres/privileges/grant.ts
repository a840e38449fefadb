import type { Sql, TransactionSql } from 'postgres'
import { Failure } from '../../errors.ts'
import { LOCKS } from '../schema/locks.ts'
import { onlyRow } from '../statement.ts'
import { comparePrivileges, namesOf } from './compare.ts'
import type { Purpose } from './purposes.ts'

/**
 * Grants a role exactly what its purpose needs, and revokes everything else that it was granted in this schema. It is to
 * be repeated after every migration, and can run twice at once.
 * @throws Failure, and changes nothing, for a role that does not exist, owns the tables or is a superuser, or that would
 * still have more in another way or less, because the user of this command cannot grant it
 */
export async function grantFor(db: Sql, role: string, purpose: Purpose): Promise<void> {
  await db.begin(async sql => {
    // Of two transactions that change the privileges of one table at the same moment, Postgres fails one.
    await sql`select pg_advisory_xact_lock(${LOCKS.schema})`
    await requireOrdinaryRole(sql, role, purpose)
    const statements = await statementsFor(sql, role, purpose)
    try {
      await sql.savepoint(async savepoint => {
        for (const statement of statements) await savepoint.unsafe(statement)
      })
    } catch (error) {
      // Insufficient privilege: a user who cannot grant gets this error without a privilege on the object itself, and a
      // warning with one. The result is checked in both cases.
      if ((error as { code?: string }).code !== '42501') throw error
    }
    await requireExactly(sql, role, purpose)
  })
}

async function requireOrdinaryRole(sql: TransactionSql, role: string, { commands }: Purpose): Promise<void> {
  const rows = await sql<{ superuser: boolean | null; owns: string | null; creation: string }[]>`
    select
      r.rolsuper as superuser,
      coalesce(
        (select 'the database ' || datname from pg_database where datname = current_database() and datdba = r.oid),
        (select 'the schema ' || nspname from pg_namespace where nspname = current_schema() and nspowner = r.oid),
        (
          select 'tables (' || string_agg(relname, ', ' order by relname) || ')' from pg_class
          where relnamespace = current_schema()::regnamespace and relowner = r.oid and relkind in ('r', 'p', 'v', 'm')
        )
      ) as owns,
      format('create role %I login password ''…''', given.name) as creation
    from (select ${role}::text as name) as given left join pg_roles r on r.rolname = given.name`
  const { superuser, owns, creation } = onlyRow(rows)
  const hint = `give ${commands} a role of its own`
  if (superuser === null) throw new Failure(`there is no role ${role}: create it with ${creation}`)
  if (superuser) throw new Failure(`${role} is a superuser, from whom nothing can be kept: ${hint}`)
  if (owns) throw new Failure(`${role} owns ${owns} and would lose what it has: ${hint}`)
}

/** Statements that revoke everything that was granted to the role itself, single columns included, and grant its needs. */
async function statementsFor(
  sql: TransactionSql,
  role: string,
  { database, privileges, functions }: Purpose,
): Promise<string[]> {
  // pg_shdepend has an entry of type a for each role in the access list of an object, except the owner of the object and
  // predefined roles: requireExactly() finds what these have.
  const revocations = await sql<{ statement: string }[]>`
    select distinct format(
      'revoke %s on %s %s from %I',
      case type when 'database' then 'create, temporary' else 'all' end,
      case
        when classid = 'pg_proc'::regclass then 'routine'
        when classid = 'pg_class'::regclass and type <> 'sequence' then 'table'
        else type
      end,
      identity,
      ${role}::text
    ) as statement
    from pg_shdepend
    join pg_database d on d.datname = current_database() and dbid in (0, d.oid)
    cross join pg_identify_object(classid, objid, 0)
    where deptype = 'a' and refclassid = 'pg_authid'::regclass
      and refobjid = (select oid from pg_roles where rolname = ${role})
      and (
        schema = quote_ident(current_schema())
        or type = 'schema' and identity = quote_ident(current_schema())
        or type = 'database' and objid = d.oid
      )`
  const what = [...privileges, ...functions.map(name => `execute on function ${name}`)]
  const grants = await sql<{ statement: string }[]>`
    select format('grant %s to %I', what, ${role}::text) as statement
    from (
      select format('%s on database %I', array_to_string(${database}::text[], ', '), current_database())
      union all select format('usage on schema %I', current_schema())
      union all select unnest(${what}::text[])
    ) as w (what)`
  return [...revocations, ...grants].map(({ statement }) => statement)
}

/** Privileges by way of PUBLIC or of another role are not revoked here: others may depend on them. */
async function requireExactly(sql: TransactionSql, role: string, purpose: Purpose): Promise<void> {
  const { missing, excess } = await comparePrivileges(sql, role, purpose)
  const owners = [...new Set(missing.map(({ owner }) => owner))]
  const grantor = owners.length === 1 ? owners[0] : `a superuser (they belong to ${owners.join(', ')})`
  if (missing.length > 0)
    throw new Failure(
      `${role} would still lack ${namesOf(missing)}, which only the owner can grant: run this command as ${grantor}`,
    )
  const remedies = [...new Set(excess.map(({ remedy }) => remedy))]
  if (excess.length > 0)
    throw new Failure(
      `${role} would still have ${namesOf(excess)}, which ${purpose.commands} does not need: ${remedies.join('; ')}, and try again`,
    )
}
