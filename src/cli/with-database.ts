import { databaseUrl, setting } from '../config.ts'
import { type Database, openDatabase } from '../database/database.ts'
import { LOAD, requirePrivileges } from '../database/grants.ts'
import { requireCurrentSchema, requireUsableSchema } from '../database/schema-record.ts'
import type { Interruption } from '../interruption.ts'

type Work<Result> = (database: Database) => Promise<Result>

/** One runs the statements. While a migration waits for a lock, the other one asks who holds it. */
const LEAST_CONNECTIONS = 2

/**
 * Runs work on DATABASE_URL with any schema, or none, and closes the database.
 * @param interruption of a command that writes: see changing()
 */
export async function withAnySchema<Result>(
  work: Work<Result>,
  interruption?: Interruption,
): Promise<Result> {
  const size = Math.max(LEAST_CONNECTIONS, setting('DATABASE_POOL_SIZE'))
  const database = await openDatabase(databaseUrl, size, interruption)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

/** The same with a schema that this program can use. @throws Failure for an older one, or one that is too new */
export const withDatabase = <Result>(work: Work<Result>, interruption?: Interruption) =>
  withAnySchema(async database => {
    await requireUsableSchema(database.sql)
    return await work(database)
  }, interruption)

/** The same for commands that write data. @throws Failure without their privileges, or if the schema is not current */
export const withCurrentSchema = <Result>(work: Work<Result>, interruption: Interruption) =>
  withAnySchema(async database => {
    await requirePrivileges(database.sql, LOAD)
    await requireCurrentSchema(database.sql)
    return await work(database)
  }, interruption)
