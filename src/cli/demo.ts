import { sql } from 'drizzle-orm'
import { setting } from '../config.ts'
import { openDatabase } from '../database/database.ts'
import { migrate } from '../database/migrate.ts'
import { rowsOf } from '../database/orm.ts'
import { type PrivateServer, startPrivateServer } from '../database/private-server/private-server.ts'
import { importSource } from '../import/import.ts'
import { ndjson } from '../import/ndjson.ts'
import { type Credentials, createIntegration } from '../integrations/credentials.ts'
import { sampleNdjson } from '../sample/generate.ts'
import { setDisclosureState } from '../tables/disclosure-state.ts'
import { newCommand } from './arguments.ts'
import { print } from './output.ts'
import { interruptible, thisProgram } from './process.ts'
import { ServingProcess } from './serving-process.ts'

const ASSESSMENTS = 2000

/** axport demo */
export const demoCommand = () =>
  newCommand(
    'demo',
    'Try axport with sample data in a temporary Postgres. Needs no settings.',
    `Prints curl commands to paste. Ctrl-C ends it and removes the data. The Postgres is that of a
checkout, or one of this machine, 15 or newer.

Example: PORT=8080 axport demo`,
  ).action(demo)

async function demo(): Promise<void> {
  // Wrong settings must be found before the preparation, which takes seconds.
  await using serving = new ServingProcess(() => undefined)
  await print('Preparing a database with sample data …\n')
  const starting = startPrivateServer()
  try {
    const { database, ...made } = await interruptible(
      () => prepare(starting),
      () => '',
    )
    const operator = `DATABASE_URL=${(await starting).url} ${thisProgram().join(' ')}`
    try {
      await serving.serve(database, url => print(instructions(url, operator, made)))
    } finally {
      await database.close()
    }
  } finally {
    await starting.then(
      server => server.end(),
      () => {},
    )
  }
}

/** Makes the database with an integration that may read everything, and reads the first record of the list. */
async function prepare(starting: Promise<PrivateServer>) {
  const sample = new Blob([...sampleNdjson({ assessments: ASSESSMENTS })])
  const { url } = await starting
  const database = await openDatabase(url, setting('DATABASE_POOL_SIZE'))
  await migrate(database.sql)
  await importSource(database.sql, ndjson({ chunks: sample.stream() }), () => {})
  await setDisclosureState(database.sql, { isOn: true })
  const description = { purpose: 'trying axport', contact: null }
  const integration = await createIntegration(database.sql, 'Demo', 'all', 'all', description)
  const [first] = await rowsOf<{ id: string; userId: string }>(
    database.sql,
    sql`select id, user_id as "userId" from export_records order by certified_on, id limit 1`,
  )
  if (!first) throw new Error('the sample has records')
  return { database, ...integration, ...first }
}

/** A filter in a shell: the token, or on standard error the answer that has none, with exit code 1. */
const TOKEN_OF_ANSWER = `awk -F'"' '$2 == "access_token" { print $4; ok = 1 } !ok { print > "/dev/stderr" } END { exit !ok }'`

function instructions(
  url: string,
  operator: string,
  { clientId, clientSecret, id, userId }: Credentials & { id: string; userId: string },
): string {
  return `
axport serves ${ASSESSMENTS} sample assessments at ${url}. Paste into another terminal:

# 1. an access token, good for two hours
TOKEN=$(curl -sS ${url}/oauth/token -d grant_type=client_credentials -d client_id=${clientId} -d client_secret=${clientSecret} | ${TOKEN_OF_ANSWER})

# 2. the first page
curl -sS --fail-with-body -H "Authorization: Bearer $TOKEN" '${url}/api/v1/ax/assessments?page=2'

# 3. one record
curl -sS --fail-with-body -H "Authorization: Bearer $TOKEN" ${url}/api/v1/ax/assessments/${id}

# with filters (-g keeps curl from reading the brackets itself)
curl -sSg --fail-with-body -H "Authorization: Bearer $TOKEN" '${url}/api/v1/ax/assessments?page=2&sort=user_name&order=desc&filter[search]=observation&filter[user_record_status][]=active'

# as an operator: which integrations were sent the records of that educator, when, and for what purpose
${operator} disclosures --user ${userId}

# ... and remove the educator for good
${operator} erase ${userId} --yes

# the documentation of the API, for a browser
${url}/docs

Ctrl-C ends it and removes the data.

`
}
