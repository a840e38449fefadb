import { databaseUrl, setting } from '../config.ts'
import { type Database, openDatabase } from '../postgres/database.ts'
import { requirePrivileges } from '../postgres/privileges/compare.ts'
import { LOAD } from '../postgres/privileges/purposes.ts'
import { requireCurrentSchema, requireUsableSchema } from '../postgres/schema/schema-record.ts'

/**
 * Runs work on DATABASE_URL, and closes the database.
 * @throws Failure for a schema that is older than this program, or too new for it
 */
export async function withDatabase<Result>(work: (database: Database) => Promise<Result>): Promise<Result> {
  return await withAnySchema(async database => {
    await requireUsableSchema(database.sql)
    return await work(database)
  })
}

/**
 * The same for commands that write the source tables and the read model.
 * @throws Failure for a role without the privileges to do so, or a schema that is not current
 */
export async function withCurrentSchema<Result>(
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  return await withAnySchema(async database => {
    await requirePrivileges(database.sql, LOAD)
    await requireCurrentSchema(database.sql)
    return await work(database)
  })
}

/** The same with any schema, or none. */
export async function withAnySchema<Result>(work: (database: Database) => Promise<Result>): Promise<Result> {
  const database = await openDatabase(databaseUrl, setting('DATABASE_POOL_SIZE'))
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}
