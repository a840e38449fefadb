import type { Sql, TransactionSql } from 'postgres'
import { Failure, firstThree } from '../../errors.ts'
import { onlyRow } from '../statement.ts'
import type { Needs, Purpose } from './purposes.ts'

interface Privilege {
  /** As "select on users". */
  name: string
  /** Can grant the privilege; null if the role can use no schema. */
  owner: string | null
  /** The statement that revokes the privilege, which depends on how the role comes by it. */
  remedy: string
}

/**
 * Compares the privileges of a role with its needs. The role lacks a privilege that it cannot use without SET ROLE. It has
 * one in excess by a grant to PUBLIC, to a role that it is a member of, or to itself. On functions without rights of their
 * own, and on extensions, none is in excess.
 */
export async function comparePrivileges(
  db: Sql | TransactionSql,
  role: string,
  { database, privileges, functions }: Needs,
): Promise<{ missing: Privilege[]; excess: Privilege[] }> {
  const rows = await db<(Privilege & { isNeeded: boolean })[]>`
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
    needed as (
      select to_regclass(name) as relation, split_part(what, ' ', 1) as privilege, substring(what from '\\((.*)\\)') as only
      from unnest(${privileges}::text[]) as phrase
      cross join string_to_table(split_part(phrase, ' on ', 1), ', ') as what
      cross join string_to_table(split_part(phrase, ' on ', 2), ', ') as name
    ),
    relations as (
      select oid, relname, relowner, case relkind when 'S' then 'sequence' else 'table' end as kind
      from pg_class
      where relkind in ('r', 'p', 'v', 'm', 'f', 'S') and (
        oid in (select relation from needed)
        or relnamespace in (select oid from home)
          and ('pg_class'::regclass, oid) not in (select classid, objid from pg_depend where deptype = 'e')
      )
    ),
    objects as (
      select 0 as rank, 'database' as kind, oid, 0 as attnum, datdba as owner, 'database ' || datname as label,
        'database ' || quote_ident(datname) as object, ${[...database, 'create']}::text[] as privileges,
        ${database}::text[] as needs
      from pg_database where datname = current_database()
      union all
      select 1, 'schema', oid, 0, nspowner, coalesce('schema ' || nspname, 'the schema'), 'schema ' || quote_ident(nspname),
        '{usage,create}', '{usage}'
      from (select) as always left join home on true
      union all
      select 2, kind, r.oid, part.attnum, relowner, relname, format('%s %s', kind, r.oid::regclass), part.privileges, array(
        select n.privilege from needed n where n.relation = r.oid and (n.only is null or n.only = part.attname)
      )
      from relations r cross join lateral (
        select 0 as attnum, null::name as attname, case kind
          when 'table' then '{select,insert,update,references,delete,truncate,trigger}' else '{usage,select,update}'
        end::text[] as privileges
        union all
        -- A grant on the table is one on each column.
        select a.attnum, a.attname, '{select,insert,update,references}' from pg_attribute a
        where kind = 'table' and a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
      ) as part
      union all
      select 3, 'function', p.oid, 0, proowner, 'function ' || p.oid::regprocedure, 'function ' || p.oid::regprocedure,
        '{execute}', case when is_needed then '{execute}' else '{}' end::text[]
      from pg_proc p
      cross join lateral (
        select exists (select from unnest(${functions}::text[]) as f where to_regprocedure(f) = p.oid) as is_needed
      ) as n
      where is_needed or p.prosecdef and p.pronamespace in (select oid from home)
        and ('pg_proc'::regclass, p.oid) not in (select classid, objid from pg_depend where deptype = 'e')
    ),
    held as (
      select *, privilege || ' on ' || label as name, privilege = any (needs) as is_needed, case
        when attnum > 0 then has_column_privilege(holder, oid, attnum::smallint, privilege)
        when kind = 'database' then has_database_privilege(holder, oid, privilege)
        when kind = 'schema' then has_schema_privilege(holder, oid, privilege)
        when kind = 'table' then has_table_privilege(holder, oid, privilege)
        when kind = 'sequence' then has_sequence_privilege(holder, oid, privilege)
        else has_function_privilege(holder, oid, privilege)
      end as is_held
      from objects cross join unnest(privileges) as privilege cross join ways
    ),
    compared as (
      select *, min(distance) filter (where is_held) over (partition by name, is_needed) as nearest from held
    )
    select distinct is_needed as "isNeeded", rank, name, pg_get_userbyid(owner) as owner,
      case distance
        when 0 then format('revoke %s on %s from public', privilege, object)
        when 1 then format('revoke %I from %I', parent, ${role}::text)
        else format('revoke %s on %s from %I', privilege, object, holder)
      end as remedy
    from compared
    where case when is_needed then distance = 2 and is_held is not true else is_held and distance = nearest end
    order by rank, name, remedy`
  return { missing: rows.filter(row => row.isNeeded), excess: rows.filter(row => !row.isNeeded) }
}

/** Refuses a role that lacks privileges. @throws Failure that names them, and the command that grants them */
export async function requirePrivileges(db: Sql, purpose: Purpose): Promise<void> {
  const name = await currentRole(db)
  const { missing } = await comparePrivileges(db, name, purpose)
  if (missing.length === 0) return
  throw new Failure(
    `the role ${name} lacks ${namesOf(missing)}: run axport migrate ${purpose.option} ${name} as the owner of the tables`,
  )
}

/** The role of the connections. */
export async function currentRole(db: Sql): Promise<string> {
  return onlyRow(await db<{ name: string }[]>`select current_user as name`).name
}

/** The first three privileges by name, and the number of the others. */
export const namesOf = (privileges: { name: string }[]) => firstThree(privileges.map(({ name }) => name))
