import { type SQL, sql } from 'drizzle-orm'
import { Failure } from '../errors.ts'
import { type Runner, statement } from './statement.ts'

/**
 * What is wrong, and what to do, if this database has the tables of axport and the search_path of this connection leads past
 * them; undefined if it leads to them, or if there are none.
 */
export async function whatPathMisses(db: Runner): Promise<string | undefined> {
  const [found] = await findTables(db, {})
  if (!found) return undefined
  const { home, role, database, path, source, mayUse } = found
  if (!mayUse)
    return `the role ${role} may not use the schema ${home}, where the tables of axport are: the owner of the tables allows it by axport migrate --grant ${role}, or --grant-loader`
  const advice =
    source === 'client'
      ? `name ${home} in the search_path that DATABASE_URL has in its options`
      : `alter role ${role} in database ${database} set search_path = ${home}`
  return `the search_path (${path}) leads past the tables of axport, which are in the schema ${home}: ${advice}`
}

/** Refuses a connection whose search_path leads past the tables. @throws Failure that says what to do */
export async function requirePath(db: Runner): Promise<void> {
  const missed = await whatPathMisses(db)
  if (missed !== undefined) throw new Failure(missed)
}

/** Other programs have a table schema_migrations, too, without this column. */
const hasHash = (table: SQL) =>
  sql`exists (select from pg_attribute where attrelid = ${table} and attname = 'sha256')`

/**
 * A schema that has the record of migrations, if the search_path leads to none. A schema that the role may not use is as if
 * the search_path did not name it.
 */
const findTables = statement<
  Record<string, never>,
  Record<'home' | 'role' | 'database' | 'path' | 'source', string> & { mayUse: boolean }
>(
  sql`
  select quote_ident(nspname) as home, quote_ident(current_user) as role, quote_ident(current_database()) as database,
    setting as path, source, has_schema_privilege(n.oid, 'usage') as "mayUse"
  from pg_class c join pg_namespace n on n.oid = relnamespace join pg_settings s on s.name = 'search_path'
  where relname = 'schema_migrations' and relpersistence <> 't' and ${hasHash(sql`c.oid`)}
    and nspname <> all (current_schemas(false)) and not ${hasHash(sql`to_regclass('schema_migrations')`)}
  order by nspname limit 1`,
  false,
)
