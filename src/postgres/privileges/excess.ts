import type { Sql, TransactionSql } from 'postgres'
import type { Purpose } from './purposes.ts'

/** Something that a role can do with the schema beyond what its purpose needs. */
interface ExcessPrivilege {
  /** As "select on users". */
  what: string
  /** The statement that takes it away, which depends on how the role comes by it. */
  remedy: string
}

/**
 * All that a role can do beyond its purpose in the schema of axport: by grants to PUBLIC, by being a
 * member of another role (whether it inherits or would have to SET ROLE), or by grants to itself.
 * Functions that do what their caller may do are no matter, and what an extension brought is not ours.
 */
export async function excessPrivileges(
  db: Sql | TransactionSql,
  role: string,
  { privileges, functions }: Purpose,
): Promise<ExcessPrivilege[]> {
  return await db<ExcessPrivilege[]>`
    with me as (
      select oid, rolname from pg_roles where rolname = ${role}
    ),
    needed as (
      select to_regclass(n.table) as relation, n.privilege, n.columns
      from json_to_recordset(${JSON.stringify(privileges)}::text::json)
        as n ("table" text, privilege text, columns text[])
    ),
    ways as (
      select 0 as rank, 'public'::name as holder, null::name as parent
      union all
      select 1, h.rolname, p.rolname
      from me
      join pg_auth_members m on m.member = me.oid
      join pg_roles p on p.oid = m.roleid
      join pg_roles h on pg_has_role(p.oid, h.oid, 'member')
      union all
      select 2, rolname, null from me
    ),
    relations as (
      select c.oid, c.relname, c.relkind = 'S' as is_sequence
      from pg_class c
      where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
        and not exists (
          select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e'
        )
    ),
    held as (
      select v.privilege, r.relname::text as name, format('table %s', r.oid::regclass) as object, w.*
      from relations r
      cross join (values ('select'), ('insert'), ('update'), ('references')) as v (privilege)
      cross join ways w
      where not r.is_sequence and exists (
        select from pg_attribute a
        where a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
          and has_column_privilege(w.holder, r.oid, a.attnum, v.privilege)
          and not exists (
            select from needed n
            where n.relation = r.oid and n.privilege = v.privilege
              and (n.columns is null or a.attname = any (n.columns))
          )
      )
      union all
      select v.privilege, r.relname, format('table %s', r.oid::regclass), w.*
      from relations r
      cross join (values ('delete'), ('truncate'), ('trigger')) as v (privilege)
      cross join ways w
      where not r.is_sequence and has_table_privilege(w.holder, r.oid, v.privilege)
        and not exists (select from needed n where n.relation = r.oid and n.privilege = v.privilege)
      union all
      select v.privilege, r.relname, format('sequence %s', r.oid::regclass), w.*
      from relations r
      cross join (values ('usage'), ('select'), ('update')) as v (privilege)
      cross join ways w
      where r.is_sequence and has_sequence_privilege(w.holder, r.oid, v.privilege)
      union all
      select 'execute', p.oid::regprocedure::text, format('function %s', p.oid::regprocedure), w.*
      from pg_proc p
      cross join ways w
      where p.pronamespace = current_schema()::regnamespace and p.prosecdef
        and not exists (select from unnest(${functions}::text[]) as name where to_regprocedure(name) = p.oid)
        and not exists (
          select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
        )
        and has_function_privilege(w.holder, p.oid, 'execute')
      union all
      select 'create', 'schema ' || n.nspname, format('schema %I', n.nspname), w.*
      from pg_namespace n
      cross join ways w
      where n.nspname = current_schema() and has_schema_privilege(w.holder, n.oid, 'create')
      union all
      select 'create', 'database ' || d.datname, format('database %I', d.datname), w.*
      from pg_database d
      cross join ways w
      where d.datname = current_database() and has_database_privilege(w.holder, d.oid, 'create')
    )
    select distinct
      h.privilege || ' on ' || h.name as what,
      case h.rank
        when 0 then format('revoke %s on %s from public', h.privilege, h.object)
        when 1 then format('revoke %I from %I', h.parent, me.rolname)
        else format('revoke %s on %s from %I', h.privilege, h.object, me.rolname)
      end as remedy
    from (select *, min(rank) over (partition by privilege, name) as nearest from held) as h
    cross join me
    where h.rank = h.nearest
    order by what, remedy`
}
