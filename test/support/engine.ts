import { cpSync } from 'node:fs'
import { type Database, openDatabase } from '../../src/postgres/database.ts'
import { setDisclosing } from '../../src/postgres/disclosing.ts'
import { migrate } from '../../src/postgres/schema/migrate.ts'
import { madeOnce } from './made-once.ts'

/** Folders of the engines that run in this process and that nobody has borrowed. */
const idle: string[] = []
let engines = 0

/**
 * An embedded database with a current schema and nothing in it. Its engine, whose start costs most of a second of
 * processor time, stays in this process: close() empties the database for the next borrower. Connections are the
 * borrower's own; whatever else was changed (tables, functions) is the borrower's to put back.
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

/** The folder of a new engine, which runs until the process ends and goes with the folder of the test run. */
async function startEngine(): Promise<string> {
  const template = await embeddedTemplate()
  const folder = await madeOnce(`engine-${process.pid}-${++engines}`, async path =>
    cpSync(template, path, { recursive: true }),
  )
  // Opened first, this one runs the engine; whoever opens the folder after it is its guest.
  await openDatabase(`embedded:${folder}`, 1)
  return folder
}

/** A migrated folder that nobody has opened, to copy from: a first start of the engine takes seconds. */
export function embeddedTemplate(): Promise<string> {
  return madeOnce('embedded', async folder => {
    const database = await openDatabase(`embedded:${folder}`, 1)
    await migrate(database.sql)
    await database.close()
  })
}
