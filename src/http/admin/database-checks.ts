import type { Sql } from 'postgres'
import { Failure } from '../../errors.ts'
import { missingMigrations } from '../../postgres/migrate.ts'
import { type Check, shared, within } from './readiness.ts'

/** What requests need of the database: that it answers, and that its schema is not behind. */
export function databaseChecks(sql: Sql): Check[] {
  return [
    { name: 'database', run: shared(() => answers(sql)) },
    { name: 'schema', after: 'database', run: shared(() => behind(sql)) },
  ]
}

/** Milliseconds for the version: metrics are read without it rather than not at all. */
const VERSION_PATIENCE = 1000

/** Reads the version of the data; undefined when the database does not answer. */
export function exportVersion(sql: Sql): () => Promise<number | undefined> {
  const read = shared(async () => {
    const [row] = await sql<{ version: string }[]>`select version from export_state`
    return row && Number(row.version)
  })
  return () => within(VERSION_PATIENCE, read(), undefined).catch(() => undefined)
}

async function answers(sql: Sql): Promise<undefined> {
  await sql`select 1`
}

/**
 * A schema that is ahead is no fault here: it is what every process sees between the migration and the
 * restarts of an upgrade, and all of them failing at once would be an outage.
 */
async function behind(sql: Sql): Promise<string | undefined> {
  try {
    const missing = await missingMigrations(sql)
    return missing.length === 0
      ? undefined
      : `behind by ${missing.length} (${missing.join(', ')}): run axport migrate`
  } catch (error) {
    if (error instanceof Failure) return undefined
    throw error
  }
}
