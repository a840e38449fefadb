import type { Sql, TransactionSql } from 'postgres'
import { Failure } from '../errors.ts'
import { LOCKS } from './locks.ts'
import { MIGRATIONS, type Migration } from './migrations.ts'
import { addToRecord, createRecord, isApplied } from './schema-record.ts'

/**
 * Applies what is missing, each migration in a transaction of its own together with its record, and
 * returns the names of those applied. Safe to run from several processes at once: one works, the others
 * wait and find nothing to do.
 * @throws Failure for a database that is newer than this program, or has an edited migration
 */
export async function migrate(sql: Sql, migrations: Migration[] = MIGRATIONS): Promise<string[]> {
  await requireSupportedServer(sql)
  const applied: string[] = []
  for (const migration of migrations) {
    const wasMissing = await sql.begin(async transaction => {
      await transaction`select pg_advisory_xact_lock(${LOCKS.schema})`
      await findTrigrams(transaction)
      await createRecord(transaction)
      if (await isApplied(transaction, migration, migrations)) return false
      await transaction.unsafe(migration.sql)
      await addToRecord(transaction, migration)
      return true
    })
    if (wasMissing) applied.push(migration.name)
  }
  return applied
}

/**
 * The migrations name an operator class of pg_trgm without its schema, which a role's search_path need not have:
 * it comes last, after all that is the role's own. Not where that has no schema to create anything in: the
 * tables would land among the extension's, and no later command find them.
 */
async function findTrigrams(sql: TransactionSql): Promise<void> {
  await sql`
    with home as (
      select coalesce(
        (select nspname from pg_extension e join pg_namespace n on n.oid = extnamespace where extname = 'pg_trgm'),
        'public'
      ) as schema
    )
    select set_config('search_path', current_setting('search_path') || ', ' || quote_ident(schema), true)
    from home
    where current_schema() is not null and schema <> all (current_schemas(false))`
}

/** Below 15 the schema is untested; outside UTF8 there are names that cannot be stored, and no ICU rules. */
async function requireSupportedServer(sql: Sql): Promise<void> {
  const [server] = await sql<{ version: string; number: number; encoding: string }[]>`
    select
      current_setting('server_version') as version,
      current_setting('server_version_num')::integer as number,
      current_setting('server_encoding') as encoding`
  if (!server) throw new Error('the server did not tell its version')
  if (server.number < 150_000) {
    throw new Failure(`the database is Postgres ${server.version}: axport needs Postgres 15 or newer`)
  }
  if (server.encoding !== 'UTF8') {
    throw new Failure(
      `the database's encoding is ${server.encoding}: create one with createdb --encoding UTF8 --template template0`,
    )
  }
}
