import type { Fragment, Sql, TransactionSql } from 'postgres'
import { Failure, firstThree } from '../../errors.ts'
import { onlyRow } from '../statement.ts'
import type { Needs, Purpose } from './purposes.ts'

/** A privilege that a role lacks: it cannot use it without SET ROLE. */
interface Missing {
  /** As "select on users". */
  name: string
  /** Can grant it; null if the role can use no schema. */
  owner: string | null
}

/**
 * What a role lacks of its needs. Each need is looked up by its name, so that this can be asked often. A table or a
 * function that does not exist is a matter of the schema.
 * @param role the role of the connection by default
 */
export async function missingPrivileges(
  db: Sql | TransactionSql,
  { database, privileges, functions }: Needs,
  role?: string,
): Promise<Missing[]> {
  return await db<Missing[]>`
    with asked as (
      select coalesce(${role ?? null}, current_user)::name as role
    ),
    needed as (${onTables(db, privileges)}),
    looked_up as (
      select 0 as rank, privilege, 'database ' || datname as label, datdba as owner,
        has_database_privilege(role, oid, privilege) as is_held
      from asked, pg_database, unnest(${database}::text[]) as privilege
      where datname = current_database()
      union all
      select 1, 'usage', coalesce('schema ' || nspname, 'the schema'), nspowner,
        coalesce(has_schema_privilege(role, oid, 'usage'), false)
      from asked left join pg_namespace on nspname = current_schema()
      union all
      select 2, privilege, relname, relowner, case
        when only_column is null then has_table_privilege(role, oid, privilege)
        else has_column_privilege(role, oid, (
          select attnum from pg_attribute where attrelid = relation and attname = only_column
        ), privilege)
      end
      from asked, needed join pg_class on oid = relation
      union all
      select 3, 'execute', 'function ' || oid::regprocedure, proowner, has_function_privilege(role, oid, 'execute')
      from asked, unnest(${functions}::text[]) as name join pg_proc on oid = to_regprocedure(name)
    )
    select rank, privilege || ' on ' || label as name, pg_get_userbyid(owner) as owner
    from looked_up where not is_held
    order by rank, name`
}

/** A row for each privilege on a table: the table, the privilege and, if it is for one column alone, the column. */
export function onTables(db: Sql | TransactionSql, privileges: Needs['privileges']): Fragment {
  return db`
    select to_regclass(name) as relation, split_part(what, ' ', 1) as privilege,
      substring(what from '\\((.*)\\)') as only_column
    from unnest(${privileges}::text[]) as phrase
    cross join string_to_table(split_part(phrase, ' on ', 1), ', ') as what
    cross join string_to_table(split_part(phrase, ' on ', 2), ', ') as name`
}

/** Refuses a role that lacks privileges. @throws Failure that names them, and the command that grants them */
export async function requirePrivileges(db: Sql, purpose: Purpose): Promise<void> {
  const missing = await missingPrivileges(db, purpose)
  if (missing.length === 0) return
  const name = await currentRole(db)
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
