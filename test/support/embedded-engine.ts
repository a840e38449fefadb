import { cpSync } from 'node:fs'
import { type Database, openDatabase } from '../../src/postgres/database.ts'
import { migrate } from '../../src/postgres/schema/migrate.ts'
import { setDisclosing } from '../../src/tables/disclosing.ts'
import { madeOnce } from './made-once.ts'

/** The folders of the engines that run in this process and that no test uses. */
const idle: string[] = []
let engines = 0

/**
 * An empty embedded database with the current schema. Starting its engine costs most of a second of processor time, so
 * the engine stays in this process, and close() empties the database for the next test. Each test gets connections of
 * its own, and must undo its changes of tables and functions.
 */
export async function borrowEngine(): Promise<Database & { url: string }> {
  const url = `embedded:${idle.pop() ?? (await startEngine())}`
  const database = await openDatabase(url, 5)
  const close = async () => {
    await database.sql`alter table integration_history disable trigger integration_history_append_only`
    await database.sql`
      truncate organizations, products, users, assessments, assessment_parts, export_records,
        integrations, integration_secrets, integration_refusals, access_tokens, disclosures, erasures
        restart identity`
    await database.sql`truncate integration_history restart identity`
    await database.sql`alter table integration_history enable trigger integration_history_append_only`
    await setDisclosing(database.sql, { isOn: false, kept: '400 days' })
    await database.sql`update export_state set time_zone = 'UTC' where time_zone <> 'UTC'`
    await database.close()
    idle.push(url.slice('embedded:'.length))
  }
  return { ...database, url, close }
}

/**
 * Starts an engine that runs until this process ends. Returns its folder, which is inside the folder of the test run.
 */
async function startEngine(): Promise<string> {
  const template = await embeddedTemplate()
  const folder = await madeOnce(`engine-${process.pid}-${++engines}`, async path =>
    cpSync(template, path, { recursive: true }),
  )
  // The first opener of a folder runs the engine; later openers connect to that engine.
  await openDatabase(`embedded:${folder}`, 1)
  return folder
}

/**
 * A migrated folder that no process has open. Copying it is faster than a first start of the engine, which takes
 * seconds.
 */
export function embeddedTemplate(): Promise<string> {
  return madeOnce('embedded', async folder => {
    const database = await openDatabase(`embedded:${folder}`, 1)
    await migrate(database.sql)
    await database.close()
  })
}
