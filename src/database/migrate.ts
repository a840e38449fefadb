import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import type { Sql, TransactionSql } from 'postgres'
import { Failure } from '../errors.ts'
import { LOCKS } from './advisory-locks.ts'
import { isBlocked } from './failures.ts'
import { MIGRATIONS, type Migration } from './migrations.ts'
import { rowsOf } from './orm.ts'
import { addToRecord, compareSchema, createRecord, requireKnown } from './schema-record.ts'
import { requirePath } from './search-path.ts'
import { onlyRow } from './statement.ts'
import { type CommandSql, transact } from './transact.ts'
import { requireFiringTriggers } from './triggers.ts'

/** How long a migration waits for a lock. Other sessions that need the table queue behind it meanwhile. */
const LOCK_TIMEOUT_MS = 2000

/**
 * Applies the missing migrations, each in a transaction of its own with its record; returns their names. Several
 * processes can run it at once: one applies, the others wait and then find nothing to do.
 * @param onBlocked called after each failed attempt, with the sessions that hold the lock and the time until the next one
 * @param onApplied called after each migration
 * @throws Failure for a database that is newer than this program or has an edited migration, for a search_path that leads
 * past the tables, and if another session does not release a lock; as transact()
 */
export async function migrate(
  client: CommandSql,
  migrations: Migration[] = MIGRATIONS,
  {
    timeoutMs = 300_000,
    onBlocked = (_blockers: string, _pauseMs: number) => {},
    onApplied = (_name: string) => {},
  } = {},
): Promise<string[]> {
  await requireSupportedServer(client)
  await requireFiringTriggers(client, 'nothing was migrated')
  // It would make a second, empty export.
  await requirePath(client)
  const applied: string[] = []
  for (const migration of migrations) {
    const startedAt = performance.now()
    // Other sessions go on in the pauses between attempts.
    for (let pauseMs = LOCK_TIMEOUT_MS; ; pauseMs = Math.min(2 * pauseMs, 4 * LOCK_TIMEOUT_MS)) {
      const { wasMissing, blockers } = await apply(client, migration, migrations)
      if (wasMissing) {
        applied.push(migration.name)
        onApplied(migration.name)
      }
      if (blockers === undefined) break
      if (performance.now() - startedAt + pauseMs > timeoutMs)
        throw new Failure(
          `migration ${migration.name} waits for locks of ${blockers}: end that, or try later`,
        )
      onBlocked(blockers, pauseMs)
      await sleep(pauseMs)
    }
  }
  return applied
}

/** Applies one migration if it is missing. If it did not get a lock, nothing is done and `blockers` says who holds it. */
async function apply(
  client: CommandSql,
  migration: Migration,
  migrations: Migration[],
): Promise<{ wasMissing: boolean; blockers?: string }> {
  const end = new AbortController()
  let found: Promise<string | undefined> | undefined
  try {
    const work = async (transaction: TransactionSql) => {
      await rowsOf(transaction, sql`select pg_advisory_xact_lock(${LOCKS.schema})`)
      await findTrigrams(transaction)
      await createRecord(transaction)
      const { missing, ahead } = await compareSchema(transaction, migrations)
      requireKnown(ahead)
      if (!missing.includes(migration.name)) return false
      const rows = await rowsOf<{ pid: number }>(
        transaction,
        sql`
        select pg_backend_pid() as pid, set_config('lock_timeout', ${String(LOCK_TIMEOUT_MS)}, true)`,
      )
      found = watchBlockers(client, onlyRow(rows).pid, end.signal)
      await transaction.unsafe(migration.sql)
      await addToRecord(transaction, migration)
      return true
    }
    return { wasMissing: await transact(client, work) }
  } catch (error) {
    if (!isBlocked(error)) throw error
    end.abort()
    return { wasMissing: false, blockers: (await found) ?? 'another session' }
  } finally {
    end.abort()
    await found
  }
}

/**
 * Polls, on another connection, which sessions block a process of the server; returns at the end those found last. It
 * names programs, without their statements and users. A role that cannot see other sessions gets no state and no time.
 */
async function watchBlockers(db: Sql, pid: number, signal: AbortSignal): Promise<string | undefined> {
  let found: string | undefined
  while (await sleep(500, true, { signal }).catch(() => false)) {
    const [row] = await rowsOf<{ blockers: string | null }>(
      db,
      sql`
      select string_agg(
        format('%s (%s)', coalesce(nullif(application_name, ''), 'a program without a name'), concat_ws(
          ', ', 'pid ' || pid, state,
          'since ' || to_char(xact_start at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
        )),
        '; ' order by xact_start
      ) as blockers
      from pg_stat_activity where pid = any (pg_blocking_pids(${pid}))`,
    ).catch(() => [])
    found = row?.blockers ?? found
  }
  return found
}

/**
 * Appends the schema of pg_trgm to the search_path: migrations name its operator class without the schema. Without
 * another schema in the path, the tables would be created beside the extension, and no later command would find them.
 */
async function findTrigrams(client: TransactionSql): Promise<void> {
  await rowsOf(
    client,
    sql`
    select set_config('search_path', current_setting('search_path') || ', ' || quote_ident(home), true)
    from coalesce(
      (select nspname from pg_extension e join pg_namespace n on n.oid = extnamespace where extname = 'pg_trgm'), 'public'
    ) as home
    where current_schema() is not null and home <> all (current_schemas(false))`,
  )
}

/** The schema is untested below Postgres 15. Other encodings than UTF8 cannot store all names, and have no ICU rules. */
async function requireSupportedServer(client: Sql): Promise<void> {
  const rows = await rowsOf<{ version: string; number: number; encoding: string }>(
    client,
    sql`
    select current_setting('server_version') as version, current_setting('server_version_num')::integer as number,
      current_setting('server_encoding') as encoding`,
  )
  const { version, number, encoding } = onlyRow(rows)
  if (number < 150_000)
    throw new Failure(`the database is Postgres ${version}: axport needs Postgres 15 or newer`)
  if (encoding !== 'UTF8')
    throw new Failure(`the encoding is ${encoding}: use createdb --encoding UTF8 --template template0`)
}
