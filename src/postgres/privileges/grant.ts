import type { Sql, TransactionSql } from 'postgres'
import { Failure, firstThree } from '../../errors.ts'
import { LOCKS } from '../schema/locks.ts'
import { excessPrivileges } from './excess.ts'
import { missingPrivileges } from './missing.ts'
import type { Purpose } from './purposes.ts'

/**
 * Gives a role exactly what its purpose needs, and takes whatever else it was granted in this schema; safe
 * to repeat, to be repeated after every migration, and to run twice at once.
 * @throws Failure for a role that does not exist, that nothing can be kept from because it owns the tables or
 * is a superuser, that would still have more by another way, or that would still lack something because this is not
 * the role that can grant it; then nothing is changed
 */
export async function grantFor(db: Sql, role: string, purpose: Purpose): Promise<void> {
  await db.begin(async sql => {
    // Two that change the privileges of one table at the same moment fail each other.
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

/** Statements that take back all that was granted to the role itself, single columns included. */
async function revocations(sql: TransactionSql, role: string): Promise<string[]> {
  const rows = await sql<{ statement: string }[]>`
    with me as (select oid, rolname from pg_roles where rolname = ${role}),
    granted as (
      select 'all', format('%s %s', case relkind when 'S' then 'sequence' else 'table' end, c.oid::regclass)
      from pg_class c, me
      where relnamespace = current_schema()::regnamespace and (
        me.oid in (select grantee from aclexplode(relacl))
        or exists (
          select from pg_attribute a, aclexplode(a.attacl) x where a.attrelid = c.oid and x.grantee = me.oid
        )
      )
      union all
      select 'all', format('routine %s', p.oid::regprocedure) from pg_proc p, me
      where pronamespace = current_schema()::regnamespace and me.oid in (select grantee from aclexplode(proacl))
      union all
      select 'all', format('schema %I', nspname) from pg_namespace, me
      where nspname = current_schema() and me.oid in (select grantee from aclexplode(nspacl))
      union all
      select 'create, temporary', format('database %I', datname) from pg_database, me
      where datname = current_database() and me.oid in (select grantee from aclexplode(datacl))
    )
    select format('revoke %s on %s from %I', privilege, object, rolname) as statement
    from granted as g (privilege, object), me`
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
 * Whoever may not grant is refused where it has no privilege on the object itself, and only warned where it has one.
 * What came of it is looked at in both cases.
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
    `${role} would still lack ${firstThree(missing.map(({ what }) => what))}, which only the owner can grant: run this command as ${grantor}`,
  )
}

/** What comes from PUBLIC or from another role is not this command's to take: others may depend on it. */
async function requireNoMore(sql: TransactionSql, role: string, purpose: Purpose): Promise<void> {
  const excess = await excessPrivileges(sql, role, purpose)
  if (excess.length === 0) return
  const remedies = [...new Set(excess.map(({ remedy }) => remedy))]
  throw new Failure(
    `${role} would still have ${firstThree(excess.map(({ what }) => what))}, which ${purpose.commands} does not need: ${remedies.join('; ')}, and try again`,
  )
}
