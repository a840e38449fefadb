import type { Fragment, Sql, TransactionSql } from 'postgres'
import { Failure, firstThree } from '../../errors.ts'
import { onlyRow } from '../statement.ts'
import type { Needs, Purpose } from './purposes.ts'

/** `name` is as "select on users"; `owner` can grant the privilege, and is null if the role can use no schema. */
interface MissingPrivilege {
  name: string
  owner: string | null
}

/** The remedy is the statement that revokes the privilege, which depends on how the role comes by it. */
interface ExcessPrivilege {
  name: string
  remedy: string
}

/** The privileges that a role lacks. Grants to roles of which it is a member, and to PUBLIC, count. */
export async function missingPrivileges(
  db: Sql | TransactionSql,
  role: string,
  needs: Needs,
): Promise<MissingPrivilege[]> {
  return await db<MissingPrivilege[]>`
    with ${existingPrivileges(db, needs)},
    lacking as (
      select 1 as rank, 'usage on the schema' as name, null as owner where current_schema() is null
      union
      select rank, name, owner from existing
      where current_schema() is not null and is_needed and not ${has(db, db`${role}`)}
      union
      -- Grants on each column do not hold for the columns that a later migration adds.
      select 2, n.privilege || ' on ' || relname, relowner
      from needed n join relations r on r.oid = n.relation
      where n.only is null and kind = 'table' and not has_table_privilege(${role}, r.oid, n.privilege)
    )
    select name, pg_get_userbyid(owner) as owner from lacking order by rank, name`
}

/**
 * The privileges in the schema that a role has beyond its needs: by grants to PUBLIC, to other roles of which it is a
 * member (it may have to SET ROLE), or to itself. Functions without rights of their own, and extensions, are left out.
 */
export async function excessPrivileges(
  db: Sql | TransactionSql,
  role: string,
  needs: Needs,
): Promise<ExcessPrivilege[]> {
  return await db<ExcessPrivilege[]>`
    with me as (
      select oid, rolname from pg_roles where rolname = ${role}
    ),
    ways as (
      select 0 as distance, 'public'::name as holder, null::name as parent
      union all
      select 1, h.rolname, p.rolname
      from me
      join pg_auth_members m on m.member = me.oid
      join pg_roles p on p.oid = m.roleid
      join pg_roles h on pg_has_role(p.oid, h.oid, 'member')
      union all
      select 2, rolname, null from me
    ),
    ${existingPrivileges(db, needs)},
    held as (
      select existing.*, ways.*, min(distance) over (partition by name) as nearest
      from existing cross join ways
      where not is_needed and ${has(db, db`holder`)}
    )
    select distinct
      name,
      case distance
        when 0 then format('revoke %s on %s from public', privilege, object)
        when 1 then format('revoke %I from %I', parent, rolname)
        else format('revoke %s on %s from %I', privilege, object, rolname)
      end as remedy
    from held cross join me
    where distance = nearest
    order by name, remedy`
}

/** The queries of a WITH that list the privileges that exist on the objects of the schema; each column has its own. */
function existingPrivileges(db: Sql | TransactionSql, { database, privileges, functions }: Needs): Fragment {
  return db`
    needed as (
      select to_regclass(name) as relation, split_part(what, ' ', 1) as privilege, substring(what from '\\((.*)\\)') as only
      from unnest(${privileges}::text[]) as phrase
      cross join string_to_table(split_part(phrase, ' on ', 1), ', ') as what
      cross join string_to_table(split_part(phrase, ' on ', 2), ', ') as name
    ),
    relations as (
      select c.oid, c.relname, c.relowner, case c.relkind when 'S' then 'sequence' else 'table' end as kind
      from pg_class c
      where c.relkind in ('r', 'p', 'v', 'm', 'f', 'S') and (
        c.oid in (select relation from needed)
        or c.relnamespace = current_schema()::regnamespace and not exists (
          select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e'
        )
      )
    ),
    objects as (
      select 0 as rank, 'database' as kind, oid, 0 as attnum, datdba as owner, 'database ' || datname as label,
        format('database %I', datname) as object, ${[...database, 'create']}::text[] as privileges,
        ${database}::text[] as needs
      from pg_database where datname = current_database()
      union all
      select 1, 'schema', oid, 0, nspowner, 'schema ' || nspname, format('schema %I', nspname), '{usage,create}', '{usage}'
      from pg_namespace where nspname = current_schema()
      union all
      select 2, 'column', r.oid, a.attnum, relowner, relname, format('table %s', r.oid::regclass),
        '{select,insert,update,references}', array(
          select n.privilege from needed n
          where n.relation = r.oid and (n.only is null or a.attname = n.only)
        )
      from relations r join pg_attribute a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
      where kind = 'table'
      union all
      select 2, kind, r.oid, 0, relowner, relname, format('%s %s', kind, r.oid::regclass),
        case kind when 'table' then '{delete,truncate,trigger}' else '{usage,select,update}' end::text[],
        array(select n.privilege from needed n where n.relation = r.oid)
      from relations r
      union all
      select 3, 'function', p.oid, 0, proowner, 'function ' || p.oid::regprocedure, 'function ' || p.oid::regprocedure,
        '{execute}', case when is_needed then '{execute}' else '{}' end::text[]
      from pg_proc p
      cross join lateral (
        select exists (select from unnest(${functions}::text[]) as f where to_regprocedure(f) = p.oid) as is_needed
      ) as n
      where is_needed or p.pronamespace = current_schema()::regnamespace and p.prosecdef and not exists (
        select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
      )
    ),
    existing as (
      select rank, kind, oid, attnum, owner, privilege, privilege || ' on ' || label as name, object,
        privilege = any (needs) as is_needed
      from objects cross join unnest(privileges) as privilege
    )`
}

/** The condition that a role has a privilege of `existing`. */
function has(db: Sql | TransactionSql, role: Fragment): Fragment {
  return db`case kind
    when 'database' then has_database_privilege(${role}::name, oid, privilege)
    when 'schema' then has_schema_privilege(${role}::name, oid, privilege)
    when 'column' then has_column_privilege(${role}::name, oid, attnum::smallint, privilege)
    when 'table' then has_table_privilege(${role}::name, oid, privilege)
    when 'sequence' then has_sequence_privilege(${role}::name, oid, privilege)
    else has_function_privilege(${role}::name, oid, privilege)
  end`
}

/** Refuses a role that lacks privileges. @throws Failure that names them, and the command that grants them */
export async function requirePrivileges(db: Sql, purpose: Purpose): Promise<void> {
  const name = await currentRole(db)
  const missing = await missingPrivileges(db, name, purpose)
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
