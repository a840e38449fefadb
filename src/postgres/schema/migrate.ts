import type { Sql, TransactionSql } from 'postgres'
import { Failure } from '../../errors.ts'
import { watchBlockers } from './blockers.ts'
import { LOCKS } from './locks.ts'
import { MIGRATIONS, type Migration } from './migrations.ts'
import { addToRecord, createRecord, isApplied } from './schema-record.ts'

/** How long `migrate` waits for locks that others hold. */
interface LockWait {
  /** Milliseconds after which it gives up; five minutes by default. */
  patience?: number
  /** Called after each attempt that failed: who holds the lock, and the milliseconds until the next attempt. */
  onBlocked?(blockers: string, pause: number): void
}

/** Milliseconds that all others may queue behind a migration that waits for a lock. */
const LOCK_TIMEOUT = 2000

/** Milliseconds between two attempts at a lock, in which all others go on: LOCK_TIMEOUT at first, doubled up to this. */
const LONGEST_PAUSE = 4 * LOCK_TIMEOUT

/**
 * Applies what is missing, each migration in a transaction of its own together with its record, and
 * returns the names of those applied. Safe to run from several processes at once: one works, the others
 * wait and find nothing to do.
 * @throws Failure for a database that is newer than this program, that has an edited migration, or whose tables
 * somebody else does not let go of
 */
export async function migrate(
  sql: Sql,
  migrations: Migration[] = MIGRATIONS,
  { patience = 300_000, onBlocked = () => {} }: LockWait = {},
): Promise<string[]> {
  await requireSupportedServer(sql)
  const applied: string[] = []
  for (const migration of migrations) {
    const since = performance.now()
    for (let pause = LOCK_TIMEOUT; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
      const { wasMissing, blockers } = await apply(sql, migration, migrations)
      if (wasMissing) applied.push(migration.name)
      if (blockers === undefined) break
      if (performance.now() - since + pause > patience) {
        throw new Failure(
          `migration ${migration.name} waits for locks of ${blockers}: end that, or try again when it is done`,
        )
      }
      onBlocked(blockers, pause)
      await Bun.sleep(pause)
    }
  }
  return applied
}

/** Applies one migration unless it was; `blockers` says who held a lock that it did not get, and then nothing was done. */
async function apply(
  sql: Sql,
  migration: Migration,
  migrations: Migration[],
): Promise<{ wasMissing: boolean; blockers?: string }> {
  let blockers = async (): Promise<string | undefined> => undefined
  try {
    const wasMissing = await sql.begin(async transaction => {
      await transaction`select pg_advisory_xact_lock(${LOCKS.schema})`
      await findTrigrams(transaction)
      await createRecord(transaction)
      if (await isApplied(transaction, migration, migrations)) return false
      const [me] = await transaction<{ pid: number }[]>`
        select pg_backend_pid() as pid, set_config('lock_timeout', ${String(LOCK_TIMEOUT)}, true)`
      blockers = watchBlockers(sql, me?.pid ?? 0)
      await transaction.unsafe(migration.sql)
      await addToRecord(transaction, migration)
      return true
    })
    return { wasMissing }
  } catch (error) {
    if (!IN_THE_WAY.includes((error as { code?: string }).code ?? '')) throw error
    return { wasMissing: false, blockers: (await blockers()) ?? 'somebody else' }
  } finally {
    await blockers()
  }
}

/** SQLSTATE: lock_timeout is over, or somebody who waits for us was found sooner. */
const IN_THE_WAY = ['55P03', '40P01']

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
