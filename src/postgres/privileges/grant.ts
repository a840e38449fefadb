import type { Sql, TransactionSql } from 'postgres'
import { Failure } from '../../errors.ts'
import { LOCKS } from '../schema/locks.ts'
import { excessPrivileges, missingPrivileges, namesOf } from './compare.ts'
import type { Purpose } from './purposes.ts'

/**
 * Grants a role exactly what its purpose needs, and revokes everything else that it was granted in this schema. It can
 * be repeated, is to be repeated after every migration, and can run twice at once.
 * @throws Failure, and changes nothing, for a role that does not exist, owns the tables or is a superuser, that would
 * still have more in another way, or that would still lack a privilege because the user of this command cannot grant it
 */
export async function grantFor(db: Sql, role: string, purpose: Purpose): Promise<void> {
  await db.begin(async sql => {
    // Of two transactions that change the privileges of one table at the same moment, Postgres fails one.
    await sql`select pg_advisory_xact_lock(${LOCKS.schema})`
    await requireOrdinaryRole(sql, role, purpose)
    const statements = [...(await revocations(sql, role)), ...(await grants(sql, role, purpose))]
    await asFarAsAllowed(sql, async savepoint => {
      for (const statement of statements) await savepoint.unsafe(statement)
    })
    await requireNoLess(sql, role, purpose)
    await requireNoMore(sql, role, purpose)
  })
}

async function requireOrdinaryRole(sql: TransactionSql, role: string, { commands }: Purpose): Promise<void> {
  const [known] = await sql<{ superuser: boolean; owns: string | null }[]>`
    select
      r.rolsuper as superuser,
      coalesce(
        (select 'the database ' || datname from pg_database where datname = current_database() and datdba = r.oid),
        (select 'the schema ' || nspname from pg_namespace where nspname = current_schema() and nspowner = r.oid),
        (
          select 'tables (' || string_agg(relname, ', ' order by relname) || ')' from pg_class
          where relnamespace = current_schema()::regnamespace and relowner = r.oid and relkind in ('r', 'p', 'v', 'm')
        )
      ) as owns
    from pg_roles r where r.rolname = ${role}`
  const hint = `give ${commands} a role of its own`
  if (!known) {
    const [create] = await sql<{ statement: string }[]>`
      select format('create role %I login password ''…''', ${role}::text) as statement`
    throw new Failure(`there is no role ${role}: create it with ${create?.statement}`)
  }
  if (known.superuser) throw new Failure(`${role} is a superuser, from whom nothing can be kept: ${hint}`)
  if (known.owns) throw new Failure(`${role} owns ${known.owns} and would lose what it has: ${hint}`)
}

/** Statements that revoke everything that was granted to the role itself in the schema, single columns included. */
async function revocations(sql: TransactionSql, role: string): Promise<string[]> {
  // pg_shdepend has an entry of type a for each role in the access list of an object, except the owner of the object and
  // predefined roles: requireNoMore() finds what these have.
  const rows = await sql<{ statement: string }[]>`
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
  return rows.map(row => row.statement)
}

async function grants(
  sql: TransactionSql,
  role: string,
  { database, privileges, functions }: Purpose,
): Promise<string[]> {
  const what = [
    ...privileges.map(({ table, privilege, columns }) =>
      columns ? `${privilege} (${columns.join(', ')}) on ${table}` : `${privilege} on ${table}`,
    ),
    ...functions.map(name => `execute on function ${name}`),
  ]
  const rows = await sql<{ statement: string }[]>`
    select format('grant %s to %I', what, ${role}::text) as statement
    from (
      select format('%s on database %I', array_to_string(${database}::text[], ', '), current_database())
      union all select format('usage on schema %I', current_schema())
      union all select unnest(${what}::text[])
    ) as w (what)`
  return rows.map(row => row.statement)
}

/**
 * Runs `work`; leaves it undone where Postgres refuses it. A role that cannot grant gets an error if it has no privilege on
 * the object itself, and a warning if it has one: the result is checked in both cases.
 */
async function asFarAsAllowed(
  sql: TransactionSql,
  work: (savepoint: TransactionSql) => Promise<void>,
): Promise<void> {
  try {
    await sql.savepoint(work)
  } catch (error) {
    if ((error as { code?: string }).code !== INSUFFICIENT_PRIVILEGE) throw error
  }
}

const INSUFFICIENT_PRIVILEGE = '42501'

async function requireNoLess(sql: TransactionSql, role: string, purpose: Purpose): Promise<void> {
  const missing = await missingPrivileges(sql, role, purpose)
  if (missing.length === 0) return
  const owners = [...new Set(missing.map(({ owner }) => owner))]
  const grantor = owners.length === 1 ? owners[0] : `a superuser (they belong to ${owners.join(', ')})`
  throw new Failure(
    `${role} would still lack ${namesOf(missing)}, which only the owner can grant: run this command as ${grantor}`,
  )
}

/** Privileges by way of PUBLIC or of another role are not revoked here: others may depend on them. */
async function requireNoMore(sql: TransactionSql, role: string, purpose: Purpose): Promise<void> {
  const excess = await excessPrivileges(sql, role, purpose)
  if (excess.length === 0) return
  const remedies = [...new Set(excess.map(({ remedy }) => remedy))]
  throw new Failure(
    `${role} would still have ${namesOf(excess)}, which ${purpose.commands} does not need: ${remedies.join('; ')}, and try again`,
  )
}
