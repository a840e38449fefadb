import type { Sql, TransactionSql } from 'postgres'
import { Failure, firstThree } from '../../errors.ts'
import type { Purpose } from './purposes.ts'

/** A privilege that a role needs for its purpose and does not have. */
interface MissingPrivilege {
  /** As "select on users". */
  what: string
  /** The role that owns the object, and so can grant it. */
  owner: string
}

/**
 * What a role lacks for its purpose, however it might come by it: by a grant to itself, to a role of which it is a
 * member, or to everybody.
 */
export async function missingPrivileges(
  db: Sql | TransactionSql,
  role: string,
  { database, privileges, functions }: Purpose,
): Promise<MissingPrivilege[]> {
  return await db<MissingPrivilege[]>`
    with me as (
      select oid from pg_roles where rolname = ${role}
    ),
    lacked as (
      select 0 as rank, privilege || ' on database ' || datname as what, datdba as owner
      from me, pg_database, unnest(${database}::text[]) as privilege
      where datname = current_database() and not has_database_privilege(me.oid, pg_database.oid, privilege)
      union all
      select 1, 'usage on schema ' || nspname, nspowner
      from me, pg_namespace
      where nspname = current_schema() and not has_schema_privilege(me.oid, pg_namespace.oid, 'usage')
      union all
      select 2, n.privilege || ' on ' || n.table, c.relowner
      from me
      cross join json_to_recordset(${JSON.stringify(privileges)}::text::json)
        as n ("table" text, privilege text, columns text[])
      join pg_class c on c.oid = to_regclass(n.table)
      where not case
        when n.columns is null then has_table_privilege(me.oid, c.oid, n.privilege)
        else (select bool_and(has_column_privilege(me.oid, c.oid, name, n.privilege)) from unnest(n.columns) as name)
      end
      union all
      select 3, 'execute on function ' || p.oid::regprocedure, p.proowner
      from me, unnest(${functions}::text[]) as name join pg_proc p on p.oid = to_regprocedure(name)
      where not has_function_privilege(me.oid, p.oid, 'execute')
    )
    select what, pg_get_userbyid(owner) as owner from lacked order by rank, what`
}

/**
 * Lets a command go on only with all that it needs.
 * @throws Failure that names what the role lacks, and the command that grants it
 */
export async function requirePrivileges(db: Sql, purpose: Purpose): Promise<void> {
  const [role] = await db<{ name: string; schema: string | null }[]>`
    select current_user as name, current_schema() as schema`
  if (!role) throw new Error('the server did not name the role')
  const { name, schema } = role
  const missing =
    schema === null ? [{ what: 'usage on the schema' }] : await missingPrivileges(db, name, purpose)
  if (missing.length === 0) return
  throw new Failure(
    `the role ${name} lacks ${firstThree(missing.map(({ what }) => what))}: ` +
      `run axport migrate ${purpose.option} ${name} as the owner of the tables`,
  )
}
