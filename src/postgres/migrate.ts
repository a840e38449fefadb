import { createHash } from 'node:crypto'
import type { Sql, TransactionSql } from 'postgres'
import { Failure } from '../errors.ts'
import { LOCKS } from './locks.ts'
import { MIGRATIONS, type Migration } from './migrations.ts'
import type { Runner } from './statement.ts'

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
      requireKnownHistory(await readRecord(transaction), migrations)
      const [done] = await transaction`select from schema_migrations where name = ${migration.name}`
      if (done) return false
      await transaction.unsafe(migration.sql)
      await transaction`insert into schema_migrations (name, sha256) values (${migration.name}, ${hash(migration)})`
      return true
    })
    if (wasMissing) applied.push(migration.name)
  }
  return applied
}

/**
 * The names of the migrations that a database lacks; empty when its schema is current.
 * @throws Failure as migrate() does
 */
export async function missingMigrations(db: Runner, migrations: Migration[] = MIGRATIONS): Promise<string[]> {
  const [table] = await rows(
    db,
    `select from pg_catalog.pg_class where oid = to_regclass('schema_migrations')`,
  )
  const record = table ? await readRecord(db) : []
  requireKnownHistory(record, migrations)
  const names = new Set(record.map(row => row.name))
  return migrations.map(migration => migration.name).filter(name => !names.has(name))
}

/**
 * Lets a command go on only with a current schema.
 * @throws Failure that says what to run
 */
export async function requireCurrentSchema(db: Runner): Promise<void> {
  const missing = await missingMigrations(db)
  if (missing.length > 0) {
    throw new Failure(
      `the database schema is behind by ${missing.length} (${missing.join(', ')}): run axport migrate`,
    )
  }
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

interface RecordRow {
  name: string
  sha256: string
}

async function createRecord(sql: TransactionSql): Promise<void> {
  await sql`
    create table if not exists schema_migrations (
      name text primary key,
      sha256 text not null,
      applied_at timestamptz not null default now()
    )`
}

async function readRecord(db: Runner): Promise<RecordRow[]> {
  return await rows(db, 'select name, sha256 from schema_migrations order by name')
}

async function rows<Row>(db: Runner, text: string): Promise<Row[]> {
  return (await db.unsafe(text, [], { prepare: false })) as Row[]
}

function requireKnownHistory(record: RecordRow[], migrations: Migration[]): void {
  const known = new Map(migrations.map(migration => [migration.name, hash(migration)]))
  for (const { name, sha256 } of record) {
    if (!known.has(name)) {
      throw new Failure(
        `the database has migration ${name}, which this axport does not know: run a newer axport`,
      )
    }
    if (known.get(name) !== sha256) {
      throw new Failure(
        `migration ${name} was edited after it was applied here: run the axport that applied it`,
      )
    }
  }
}

function hash(migration: Migration): string {
  return createHash('sha256').update(migration.sql).digest('hex')
}
