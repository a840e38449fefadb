import { afterAll, beforeAll } from 'bun:test'
import pino from 'pino'
import type { Sql } from 'postgres'
import { type Credentials, createIntegration } from '../../src/integrations/create.ts'
import type { Ids } from '../../src/integrations/scope.ts'
import { openDatabase } from '../../src/postgres/database.ts'
import { openEmbeddedWorld } from './embedded-world.ts'
import { axport, complaint } from './executable.ts'
import { type Backend, listen, load, openTestDatabase, type TestDatabase } from './service.ts'

export const LIST = '/api/v1/ax/assessments'

/** Organizations 10 to 12, of which 12 has no assessment; products 1 to 3; three assessments. */
export const WORLD = [
  { type: 'organization', id: 10, name: 'Lakeside District' },
  { type: 'organization', id: 11, name: 'Oak Valley' },
  { type: 'organization', id: 12, name: 'Riverton' },
  { type: 'product', id: 1, name: 'Reading Observation' },
  { type: 'product', id: 2, name: 'Writing Observation' },
  { type: 'product', id: 3, name: 'Never Taken' },
  { type: 'user', id: 501, name: 'Ana Ruiz', first_name: 'Ana', last_name: 'Ruiz' },
  { type: 'user', id: 77, name: 'Pat Proctor' },
  assessment(9001, 10, 1),
  assessment(9002, 11, 1),
  assessment(9003, 10, 2),
]

function assessment(id: number, organization: number, product: number): object {
  return {
    type: 'assessment',
    id,
    user_id: 501,
    organization_id: organization,
    product_id: product,
    certified_at: '2026-03-01T18:20:00Z',
    proctor_id: 77,
  }
}

/** Two services that share nothing but their database, as two processes behind a load balancer do. */
interface TwoServices {
  sql: Sql
  /** A pool of its own on the same database. */
  otherSql: Sql
  url: string
  baseUrls: [string, string]
}

/** Two services on a database that holds WORLD, open while the tests of a group run. */
export function useTwoServices(backend: Backend): TwoServices {
  const services = {} as TwoServices
  let close = async () => {}
  beforeAll(async () => {
    const database = await openWorld(backend)
    const { sql, url, close: drop } = database
    const other = await openDatabase(url, 5)
    const log = pino({ level: 'silent' })
    const servers = [database, other].map(db => listen(db, log))
    const baseUrls = servers.map(server => server.url) as [string, string]
    Object.assign(services, { sql, otherSql: other.sql, url, baseUrls })
    close = async () => {
      for (const server of servers) await server.stop()
      await other.close()
      await drop()
    }
  })
  afterAll(() => close())
  return services
}

/** A database that holds WORLD. */
export async function openWorld(backend: Backend): Promise<TestDatabase> {
  if (backend === 'embedded') return await openEmbeddedWorld(WORLD)
  const database = await openTestDatabase(backend)
  await load(database.sql, WORLD)
  return database
}

/** Provisions an integration with a name that no other has. */
export async function provision(
  sql: Sql,
  organizations: Ids = ['10', '11'],
  products: Ids = ['1', '2'],
): Promise<Credentials & { name: string }> {
  const name = `Integration ${crypto.randomUUID()}`
  return { name, ...(await createIntegration(sql, name, organizations, products)) }
}

/** An answer without what differs from one request to the next. */
export interface Answer {
  status: number
  challenge: string | null
  body: Record<string, unknown>
}

async function answer(response: Response): Promise<Answer> {
  return {
    status: response.status,
    challenge: response.headers.get('www-authenticate'),
    body: (await response.json()) as Record<string, unknown>,
  }
}

/** What the token endpoint answers to these credentials. */
export async function requestToken(baseUrl: string, credentials: Credentials): Promise<Answer> {
  return await answer(
    await fetch(`${baseUrl}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: credentials.clientId,
        client_secret: credentials.clientSecret,
      }),
    }),
  )
}

/** A token for credentials that are good. */
export async function newToken(baseUrl: string, credentials: Credentials): Promise<string> {
  const { status, body } = await requestToken(baseUrl, credentials)
  if (status !== 200) throw new Error(`no token: ${JSON.stringify(body)}`)
  return body.access_token as string
}

/** What the list endpoint answers to this token. */
export async function getList(baseUrl: string, token: string): Promise<Answer> {
  return await answer(
    await fetch(`${baseUrl}${LIST}?page=100`, { headers: { authorization: `Bearer ${token}` } }),
  )
}

/** The ids that a list answer holds, in its order. */
export function ids({ status, body }: Answer): number[] {
  if (status !== 200) throw new Error(`${status}: ${JSON.stringify(body)}`)
  return (body.data as { id: number }[]).map(record => record.id)
}

/** The answer that somebody gets whom nobody has ever heard of. */
export const UNKNOWN_SECRET: Credentials = { clientId: 'x'.repeat(24), clientSecret: 'x'.repeat(43) }
export const UNKNOWN_TOKEN = 'x'.repeat(43)

/** Runs a command on a database, which has to succeed; what it wrote to standard output. */
export async function succeed(url: string, ...args: string[]): Promise<string> {
  const finished = await axport(args, { env: { DATABASE_URL: url } })
  if (finished.code !== 0) throw new Error(`axport ${args.join(' ')}: ${JSON.stringify(finished)}`)
  return finished.stdout
}

/** Why a command on a database fails with exit code 1, as its one line says it. */
export async function refusal(url: string, ...args: string[]): Promise<string> {
  return complaint(await axport(args, { env: { DATABASE_URL: url } }), 1)
}
