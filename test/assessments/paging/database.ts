import { afterAll, beforeAll } from 'bun:test'
import postgres, { type Sql } from 'postgres'
import type { Runner } from '../../../src/database/statement.ts'
import { DIGEST_TYPE } from '../../../src/database/value-types.ts'
import { openTestDatabase } from '../../support/service.ts'
import { runnerOn } from './runners.ts'
import { reset } from './world.ts'

/** The database of one test file. */
export interface PagingDatabase {
  /** For the writers and for the oracle. */
  sql: Sql
  url: string
  /** One connection that records the texts of its statements in `sent`. */
  pool: Runner
  sent: string[]
}

/**
 * Opens the database before the tests, with `records` assessments of world.ts if given, and closes it after
 * them.
 */
export function useDatabase(records?: number): PagingDatabase {
  const db = { sent: [] as string[] } as PagingDatabase
  let close: () => Promise<void>
  let client: Sql | undefined
  beforeAll(async () => {
    const opened = await openTestDatabase()
    close = opened.close
    Object.assign(db, { sql: opened.sql, url: opened.url })
    client = postgres(db.url, {
      max: 1,
      onnotice: () => {},
      types: DIGEST_TYPE,
      debug: (_connection, text) => db.sent.push(text),
    })
    db.pool = runnerOn(client)
    if (records !== undefined) await reset(db.sql, records)
  })
  afterAll(async () => {
    await client?.end()
    await close?.()
  })
  return db
}
