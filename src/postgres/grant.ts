import type { Sql, TransactionSql } from 'postgres'
import { Failure } from '../errors.ts'
import { excessPrivileges } from './excess-privileges.ts'
import { LOCKS } from './locks.ts'
import { SERVE_FUNCTION, SERVE_PRIVILEGES } from './serve-privileges.ts'

/**
 * Gives a role exactly what `axport serve` needs, and takes whatever else it was granted in this schema; safe
 * to repeat, to be repeated after every migration, and to run twice at once.
 * @throws Failure for a role that does not exist, that nothing can be kept from because it owns the tables or
 * is a superuser, or that would still have more by another way; then nothing is changed
 */
export async function grantServe(db: Sql, role: string): Promise<void> {
  await db.begin(async sql => {
    // Two that change the privileges of one table at the same moment fail each other.
    await sql`select pg_advisory_xact_lock(${LOCKS.schema})`
    await requireOrdinaryRole(sql, role)
    for (const statement of [...(await revocations(sql, role)), ...(await grants(sql, role))]) {
      await sql.unsafe(statement)
    }
    await requireNoMore(sql, role)
  })
}

async function requireOrdinaryRole(sql: TransactionSql, role: string): Promise<void> {
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
  const hint = 'give axport serve a role of its own'
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
      select 'create', format('database %I', datname) from pg_database, me
      where datname = current_database() and me.oid in (select grantee from aclexplode(datacl))
    )
    select format('revoke %s on %s from %I', privilege, object, rolname) as statement
    from granted as g (privilege, object), me`
  return rows.map(row => row.statement)
}

async function grants(sql: TransactionSql, role: string): Promise<string[]> {
  const what = [
    ...SERVE_PRIVILEGES.map(({ table, privilege, columns }) =>
      columns ? `${privilege} (${columns.join(', ')}) on ${table}` : `${privilege} on ${table}`,
    ),
    `execute on function ${SERVE_FUNCTION}`,
  ]
  const rows = await sql<{ statement: string }[]>`
    select format('grant %s to %I', what, ${role}::text) as statement
    from (
      select format('connect on database %I', current_database())
      union all select format('usage on schema %I', current_schema())
      union all select unnest(${what}::text[])
    ) as w (what)`
  return rows.map(row => row.statement)
}

/** What comes from PUBLIC or from another role is not this command's to take: others may depend on it. */
async function requireNoMore(sql: TransactionSql, role: string): Promise<void> {
  const excess = await excessPrivileges(sql, role)
  if (excess.length === 0) return
  const more = excess.length > 3 ? ` and ${excess.length - 3} more` : ''
  const remedies = [...new Set(excess.map(({ remedy }) => remedy))]
  throw new Failure(
    `${role} would still have ${excess
      .slice(0, 3)
      .map(({ what }) => what)
      .join(', ')}${more}, which axport serve does not need: ${remedies.join('; ')}, and try again`,
  )
}
