import type { Sql } from 'postgres'
import { openDatabase } from '../../../src/database/database.ts'
import { createIntegration } from '../../../src/integrations/credentials.ts'
import { axport } from '../../support/executable.ts'
import { type Line, ndjsonOf } from '../../support/fixtures.ts'
import { SCOPE } from './small-platform.ts'

/** Calls `work` with a new connection to a database. */
export async function on<T>(url: string, work: (sql: Sql) => Promise<T>): Promise<T> {
  const { sql, close } = await openDatabase(url, 1)
  try {
    return await work(sql)
  } finally {
    await close()
  }
}

/** Provisions an integration; by default its scope is all of a small platform. */
export async function integrate(url: string, { organizations, products } = SCOPE) {
  return await on(url, sql =>
    createIntegration(sql, crypto.randomUUID(), organizations.map(String), products.map(String)),
  )
}

/** Runs `axport import -` on lines. */
export function importing(url: string, lines: Line[]) {
  return axport(['import', '-'], { env: { DATABASE_URL: url }, stdin: { text: ndjsonOf(lines) } })
}
