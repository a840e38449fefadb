import { databaseUrl, setting } from '../config.ts'
import { type Database, openDatabase } from '../postgres/database.ts'
import { requireCurrentSchema } from '../postgres/migrate.ts'

/** Runs a command's work on DATABASE_URL with a current schema, and closes the database whatever happens. */
export async function withDatabase<Result>(work: (database: Database) => Promise<Result>): Promise<Result> {
  return await withAnySchema(async database => {
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
