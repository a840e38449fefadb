import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import type { Sql } from 'postgres'
import { preset, setting } from '../config.ts'
import { Interrupted } from '../errors.ts'
import { importSource } from '../import/import.ts'
import { ndjson } from '../import/ndjson.ts'
import { type Credentials, createIntegration } from '../integrations/create.ts'
import { openDatabase } from '../postgres/database.ts'
import { setDisclosing } from '../postgres/disclosing.ts'
import { migrate } from '../postgres/schema/migrate.ts'
import { sampleNdjson } from '../sample/generate.ts'
import { print } from './output.ts'
import { terminated, thisProgram } from './process.ts'

const ASSESSMENTS = 2000

/** axport demo */
export function demoCommand(): Command {
  return new Command('demo')
    .description('Try axport with sample data in a built-in database. Needs no settings.')
    .addHelpText(
      'after',
      '\nPrints curl commands to paste. Ctrl-C ends it and removes the data.\n\nExample: PORT=8080 axport demo',
    )
    .action(demo)
}

async function demo(): Promise<void> {
  // Before anything is prepared, which takes seconds.
  setting('HOST')
  setting('PORT')
  preset('DOCS', 'try')
  const signalled = terminated()
  const folder = mkdtempSync(join(tmpdir(), 'axport-demo-'))
  // Once more at the very end: an engine that is just starting makes the folder again.
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  try {
    // A server that serves ends by itself at a signal; before that there is only the folder to remove.
    let isServing = false
    const interrupted = signalled.then(() =>
      isServing ? new Promise<never>(() => {}) : Promise.reject(new Interrupted('')),
    )
    await Promise.race([demoIn(folder, () => (isServing = true)), interrupted])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function demoIn(folder: string, whenServing: () => void): Promise<void> {
  await print('Preparing a database with sample data …\n')
  const database = await openDatabase(`embedded:${folder}`, setting('DATABASE_POOL_SIZE'))
  try {
    const integration = await prepare(database.sql)
    const [first] = await database.sql<First[]>`
      select id, user_id as "userId" from export_records order by certified_on, id limit 1`
    whenServing()
    const { serve } = await import('./serving.ts')
    await serve(database, url => print(instructions(url, folder, integration, first as First)))
  } finally {
    await database.close()
  }
}

/** The record that a walk begins with, and its educator. */
interface First {
  id: string
  userId: string
}

async function prepare(sql: Sql): Promise<Credentials> {
  await migrate(sql)
  const chunks = encoded(sampleNdjson({ assessments: ASSESSMENTS }))
  await importSource(sql, ndjson({ chunks }), () => {})
  await setDisclosing(sql, { isOn: true })
  return await createIntegration(sql, 'Demo', 'all', 'all', { purpose: 'trying axport', contact: null })
}

async function* encoded(texts: Iterable<string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  for (const text of texts) yield encoder.encode(text)
}

function instructions(
  url: string,
  folder: string,
  { clientId, clientSecret }: Credentials,
  { id, userId }: First,
): string {
  const operator = `DATABASE_URL=embedded:${folder} ${thisProgram().join(' ')}`
  return `
axport serves ${ASSESSMENTS} sample assessments at ${url}. Paste into another terminal:

# 1. an access token, good for two hours
TOKEN=$(curl -s ${url}/oauth/token -d grant_type=client_credentials -d client_id=${clientId} -d client_secret=${clientSecret} | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')

# 2. the first page
curl -s -H "Authorization: Bearer $TOKEN" '${url}/api/v1/ax/assessments?page=2'

# 3. one record
curl -s -H "Authorization: Bearer $TOKEN" ${url}/api/v1/ax/assessments/${id}

# with filters (-g keeps curl from reading the brackets itself)
curl -s -g -H "Authorization: Bearer $TOKEN" '${url}/api/v1/ax/assessments?page=2&sort=user_name&order=desc&filter[search]=observation&filter[user_record_status][]=active'

# as an operator: which integrations were shown the records of that educator, when, and for what purpose
${operator} disclosures --user ${userId}

# ... and remove the educator for good
${operator} erase ${userId}

${setting('DOCS') === 'try' ? `# or in a browser, with the client id and the secret of the first line\n${url}/docs\n\n` : ''}Ctrl-C ends it and removes the data.

`
}
