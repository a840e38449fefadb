import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { createIntegration } from '../../../src/integrations/credentials.ts'
import { sampleNdjson } from '../../../src/sample/generate.ts'
import { cleanUp, serve, TEST_TIMEOUT_MS } from '../../support/executable.ts'
import { importText } from '../../support/import.ts'
import { requires } from '../../support/requires.ts'
import { openTestDatabase, type TestDatabase } from '../../support/service.ts'
import { perform, type Seen, type Task } from './run.ts'
import { CLIENTS, type Client } from './table.ts'
import type { Refusal } from './task.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

const WRONG_SECRET = {
  status: 401,
  error: 'invalid_client',
  description: 'Client authentication failed',
  challenge: 'Basic realm="axport", charset="UTF-8"',
}
const WRONG_GRANT = {
  status: 400,
  error: 'unsupported_grant_type',
  description: 'grant_type must be client_credentials',
}
const EXPIRED = {
  status: 401,
  error: 'invalid_token',
  description: 'The access token is invalid',
  challenge: 'Bearer realm="axport", error="invalid_token", error_description="The access token is invalid"',
}

let database: TestDatabase
let baseUrl: string
/** Two of the three organizations, so that a record outside of the scope would be noticed. */
let organizations: string[]
let products: string[]
/** The ids of all assessments in that scope, in the order of the export. */
let ids: number[]

beforeAll(async () => {
  database = await openTestDatabase()
  const { sql } = database
  const { loaded } = await importText(sql, [...sampleNdjson({ assessments: 400 })].join(''))
  expect(loaded).toBe(true)
  const idsOf = async (table: string) =>
    (await sql`select id from ${sql(table)} order by id`).map(({ id }) => String(id))
  organizations = (await idsOf('organizations')).slice(0, 2)
  products = await idsOf('products')
  const rows = await sql`
    select id from assessments
    where organization_id = any(${organizations}::bigint[])
    order by (certified_at at time zone 'UTC')::date, id`
  ids = rows.map(({ id }) => Number(id))
  const { url } = await serve({ DATABASE_URL: database.url })
  baseUrl = url
})
afterAll(async () => {
  await cleanUp()
  await database?.close()
})

/** A task with a new integration, so that concurrent runs do not share tokens. */
async function newTask(style: string): Promise<Task> {
  const credentials = await createIntegration(database.sql, style, organizations, products)
  return { baseUrl, style, ...credentials }
}

/** The number of live tokens. Expired tokens are not counted, because the service may purge them at any moment. */
async function tokensOf({ clientId }: Task): Promise<number> {
  const [row] = await database.sql`
    select count(*)::int from access_tokens t
    join integration_secrets s on s.id = t.secret_id
    join integrations i on i.id = s.integration_id
    where i.client_id = ${clientId} and t.expires_at > now()`
  return row?.count
}

async function expireTokens({ clientId }: Task): Promise<void> {
  await database.sql`
    update access_tokens t set expires_at = now()
    from integration_secrets s join integrations i on i.id = s.integration_id
    where s.id = t.secret_id and i.client_id = ${clientId}`
}

function expectWholeExport({ ids: seen, count, lifetime }: Seen): void {
  expect(seen).toEqual(ids)
  expect(count).toBe(ids.length)
  // RFC 6749 §5.1: the lifetime that the library derives from expires_in. Some libraries round; some time has passed.
  expect(lifetime).toBeGreaterThan(7_150)
  expect(lifetime).toBeLessThanOrEqual(7_201)
}

function expectRefusal(
  refused: Refusal | undefined,
  answer: Omit<Refusal, 'kind'>,
  { kind, hides = [] }: Client['secret'],
): void {
  const shown = Object.entries(answer).filter(([fact]) => !hides.includes(fact as (typeof hides)[number]))
  expect(withScheme(refused)).toEqual(withScheme({ kind, ...Object.fromEntries(shown) }))
}

/** RFC 9110 §11.1: the scheme is case-insensitive, and some libraries return it in lower case. */
function withScheme(refusal: Refusal | undefined): Refusal | undefined {
  const challenge = refusal?.challenge?.replace(/^\w+/, scheme => scheme.toLowerCase())
  return refusal && { ...refusal, challenge }
}

test('the export has more than two pages, and fewer records than the database', () => {
  expect(ids.length).toBeGreaterThan(200)
  expect(ids.length).toBeLessThan(400)
})

test('docs/integrate/reference.md names every client with its styles, and with its version if it is a package of npm', async () => {
  const path = join(import.meta.dir, '..', '..', '..', 'docs', 'integrate', 'reference.md')
  const page = (await Bun.file(path).text()).replaceAll(/\s+/g, ' ')
  const [, names = '', styles = ''] =
    /Tests run these OAuth libraries unmodified: (.*?)\. (Each sends .*?)\. /.exec(page) ?? []
  const listed = names.replace('and of Debian 12 ', '').split(/, | and /)
  expect(listed).toEqual(CLIENTS.map(({ name, version }) => (version ? `${name} ${version}` : name)))
  const sendingJson = CLIENTS.filter(client => client.styles.includes('JSON')).map(({ name }) => name)
  expect(styles).toBe(
    `Each sends \`client_secret_basic\` and \`client_secret_post\`; ${sendingJson.join(' and ')} send JSON, too`,
  )
  for (const client of CLIENTS)
    expect(client.styles).toEqual(expect.arrayContaining(['client_secret_basic', 'client_secret_post']))
})

for (const client of CLIENTS) {
  const { describe } = requires(...client.needs)
  const by = (style: string) => {
    test.concurrent('walks all pages with one token, and knows the lifetime of the token', async () => {
      const task = await newTask(style)
      const seen = await perform(client, task, 'walk')
      expectWholeExport(seen)
      expect(seen.refused).toBeUndefined()
      expect(await tokensOf(task)).toBe(1)
    })

    test.concurrent('reports an expired token, and continues with a new one', async () => {
      const task = await newTask(style)
      const seen = await perform(client, task, { paused: () => expireTokens(task) })
      expectRefusal(seen.refused, EXPIRED, client.token)
      expectWholeExport(seen)
      expect(await tokensOf(task)).toBe(1)
    })

    test.concurrent('reports a wrong secret', async () => {
      const task = await newTask(style)
      const seen = await perform(client, { ...task, clientSecret: `${task.clientSecret}x` }, 'walk')
      expectRefusal(seen.refused, WRONG_SECRET, client.secret)
      expect(seen.ids).toEqual([])
      expect(await tokensOf(task)).toBe(0)
    })

    test.concurrent('reports a wrong grant type', async () => {
      const task = await newTask(style)
      const seen = await perform(client, task, 'grant')
      expectRefusal(seen.refused, WRONG_GRANT, client.grant)
      expect(await tokensOf(task)).toBe(0)
    })
  }
  for (const style of client.styles) describe(`${client.name} by ${style}`, () => by(style))
}
