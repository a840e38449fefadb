import type { Sql, TransactionSql } from 'postgres'
import { onTables } from './compare.ts'
import type { Needs } from './purposes.ts'

/** A privilege that a role does not need. */
interface Excess {
  /** As "select on users". */
  name: string
  /** The statement that revokes it, which depends on how the role comes by it. */
  remedy: string
}

/**
 * What a role can do beyond its needs: by a grant to PUBLIC, to a role that it is a member of, or to itself. On functions
 * without rights of their own, and on extensions, nothing is in excess. It looks at every column of the schema.
 */
export async function excessPrivileges(
  db: Sql | TransactionSql,
  role: string,
  { privileges, functions }: Needs,
): Promise<Excess[]> {
  return await db<Excess[]>`
    with ways as (
      select 0 as distance, 'public'::name as holder, null::name as parent
      union all
      select 1, h.rolname, p.rolname
      from pg_auth_members m
      join pg_roles p on p.oid = m.roleid
      join pg_roles h on pg_has_role(p.oid, h.oid, 'member')
      where m.member = quote_ident(${role})::regrole
      union all
      select 2, ${role}, null
    ),
    home as (
      select * from pg_namespace where nspname = current_schema()
    ),
    needed as (${onTables(db, privileges)}),
    relations as (
      select oid, relname, case relkind when 'S' then 'sequence' else 'table' end as kind
      from pg_class
      where relkind in ('r', 'p', 'v', 'm', 'f', 'S') and (
        oid in (select relation from needed)
        or relnamespace in (select oid from home)
          and ('pg_class'::regclass, oid) not in (select classid, objid from pg_depend where deptype = 'e')
      )
    ),
    objects as (
      select 0 as rank, 'database' as kind, oid, 0 as attnum, 'database ' || datname as label,
        'database ' || quote_ident(datname) as object, '{create}'::text[] as privileges
      from pg_database where datname = current_database()
      union all
      select 1, 'schema', oid, 0, 'schema ' || nspname, 'schema ' || quote_ident(nspname), '{create}' from home
      union all
      select 2, kind, r.oid, each.attnum, relname, format('%s %s', kind, r.oid::regclass), array(
        select unnest(each.privileges)
        except
        select privilege from needed
        where relation = r.oid and (only_column is null or only_column = each.attname)
      )
      from relations r cross join lateral (
        select 0 as attnum, null::name as attname, case kind
          when 'table' then '{select,insert,update,references,delete,truncate,trigger}' else '{usage,select,update}'
        end::text[] as privileges
        union all
        -- A grant on the table is one on each column.
        select a.attnum, a.attname, '{select,insert,update,references}' from pg_attribute a
        where kind = 'table' and a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
      ) as each
      union all
      select 3, 'function', p.oid, 0, 'function ' || p.oid::regprocedure, 'function ' || p.oid::regprocedure, '{execute}'
      from pg_proc p
      where p.prosecdef and p.pronamespace in (select oid from home)
        and not exists (select from unnest(${functions}::text[]) as f where to_regprocedure(f) = p.oid)
        and ('pg_proc'::regclass, p.oid) not in (select classid, objid from pg_depend where deptype = 'e')
    ),
    compared as (
      select *, privilege || ' on ' || label as name, case
        when attnum > 0 then has_column_privilege(holder, oid, attnum::smallint, privilege)
        when kind = 'database' then has_database_privilege(holder, oid, privilege)
        when kind = 'schema' then has_schema_privilege(holder, oid, privilege)
        when kind = 'table' then has_table_privilege(holder, oid, privilege)
        when kind = 'sequence' then has_sequence_privilege(holder, oid, privilege)
        else has_function_privilege(holder, oid, privilege)
      end as is_held
      from objects cross join unnest(privileges) as privilege cross join ways
    ),
    held as (
      select *, min(distance) over (partition by name) as nearest from compared where is_held
    )
    select distinct rank, name, case distance
      when 0 then format('revoke %s on %s from public', privilege, object)
      when 1 then format('revoke %I from %I', parent, ${role}::text)
      else format('revoke %s on %s from %I', privilege, object, holder)
    end as remedy
    from held where distance = nearest
    order by rank, name, remedy`
}
