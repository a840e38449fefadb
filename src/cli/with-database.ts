import { databaseUrl, setting } from '../config.ts'
import { type Database, openDatabase } from '../postgres/database.ts'
import { requirePrivileges } from '../postgres/privileges/compare.ts'
import { LOAD } from '../postgres/privileges/purposes.ts'
import { requireCurrentSchema, requireUsableSchema } from '../postgres/schema/schema-record.ts'

/**
 * Runs a command's work on DATABASE_URL, and closes the database whatever happens. Its schema is current, or so much
 * ahead as this program can live with.
 */
export async function withDatabase<Result>(work: (database: Database) => Promise<Result>): Promise<Result> {
  return await withAnySchema(async database => {
    await requireUsableSchema(database.sql)
    return await work(database)
  })
}

/** The same with a current schema alone, for a role that has what the commands need that write the source tables and the read model. */
export async function withCurrentSchema<Result>(
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  return await withAnySchema(async database => {
    await requirePrivileges(database.sql, LOAD)
    await requireCurrentSchema(database.sql)
    return await work(database)
  })
}

/** The same without a look at the schema: for the command that brings it up to date. */
export async function withAnySchema<Result>(work: (database: Database) => Promise<Result>): Promise<Result> {
  const database = await openDatabase(databaseUrl, setting('DATABASE_POOL_SIZE'))
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}
