import { rmSync } from 'node:fs'
import postgres from 'postgres'
import { openDatabase } from '../../../../src/postgres/database.ts'
import { migrate } from '../../../../src/postgres/migrate.ts'
import { emptyFolder } from '../../../support/executable.ts'
import { openTestDatabase } from '../../../support/service.ts'
import { until } from '../../../support/until.ts'
import type { Target } from './killed-import.ts'

/** A migrated database of the shared Postgres. */
export async function postgresTarget(): Promise<Target & { close(): Promise<void> }> {
  const { url, close } = await openTestDatabase('postgres')
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  return {
    url,
    look: async work => {
      // The server goes on with a statement whose client is gone, and rolls back or commits after it.
      await until(
        'the killed import is rolled back or committed',
        async () => {
          const [busy] = await sql`
          select from pg_stat_activity
          where datname = current_database() and application_name = 'axport' and state <> 'idle'`
          return !busy
        },
        60_000,
      )
      return await work(sql)
    },
    close: async () => {
      await sql.end({ timeout: 0 })
      await close()
    },
  }
}

/** A migrated embedded database, which is open only while it is looked at. */
export async function embeddedTarget(): Promise<Target & { close(): Promise<void> }> {
  const folder = emptyFolder()
  const url = `embedded:${folder}`
  const target: Target = {
    url,
    look: async work => {
      const { sql, close } = await openDatabase(url, 1)
      try {
        return await work(sql)
      } finally {
        await close()
      }
    },
  }
  await target.look(migrate)
  return { ...target, close: async () => rmSync(folder, { recursive: true, force: true }) }
}
