import { expect } from 'bun:test'
import type { Sql } from 'postgres'

/**
 * What a role can do in the schema public, by the catalogs, however it came by that: on tables and views, as "select
 * table", or as "select table.column" if not every column is allowed; on sequences; with functions that PUBLIC cannot
 * call or that run with the rights of their owner; and whether it can create something or grant it on.
 */
export async function privilegesOf(sql: Sql, role: string): Promise<string[]> {
  const rows = await sql<{ privilege: string }[]>`
    with role as (select ${role}::name as name),
    tables as (
      select c.oid, relname, relkind = 'S' as is_sequence from pg_class c
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'f', 'S')
    ),
    whole as (
      select t.oid, privilege, privilege || ' ' || relname as text
      from role, tables t, unnest(case when is_sequence then '{usage,select,update}'
        else '{select,insert,update,delete,truncate,references,trigger}' end::text[]) as privilege
      where case when is_sequence then has_sequence_privilege(name, oid, privilege)
        else has_table_privilege(name, oid, privilege) end
    )
    select text as privilege from whole
    union all
    select verb || ' ' || relname || '.' || attname
    from role, tables t join pg_attribute on attrelid = t.oid and attnum > 0 and not attisdropped,
      unnest('{select,insert,update,references}'::text[]) as verb
    where not is_sequence and has_column_privilege(name, t.oid, attnum, verb)
      and not exists (select from whole where whole.oid = t.oid and whole.privilege = verb)
    union all
    select 'execute ' || p.oid::regprocedure
    from role, pg_proc p
    where pronamespace = 'public'::regnamespace and has_function_privilege(name, p.oid, 'execute')
      and (prosecdef or not has_function_privilege('public', p.oid, 'execute'))
      and not exists (select from pg_depend where objid = p.oid and deptype = 'e')
    union all
    select 'create in public' from role where has_schema_privilege(name, 'public', 'create')
    union all
    select 'create schemas' from role where has_database_privilege(name, current_database(), 'create')
    union all
    select 'grant ' || relname from role, pg_class, aclexplode(relacl)
    where relnamespace = 'public'::regnamespace and grantee = name::regrole and is_grantable
    order by 1`
  return rows.map(({ privilege }) => privilege)
}

/** Fails if a role has not exactly these privileges, and says what is to be changed. */
export async function expectPrivileges(
  sql: Sql,
  role: string,
  file: string,
  written: string[],
): Promise<void> {
  const advice = `db/grants/${file} gives what the list in this test does not say, or less: change both, if it is meant`
  expect(await privilegesOf(sql, role), advice).toEqual(written.toSorted())
}
