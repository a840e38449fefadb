import pino from 'pino'
import type { Sql } from 'postgres'
import { openDatabase } from '../../src/database/database.ts'
import { type Credentials, createIntegration } from '../../src/integrations/credentials.ts'
import type { Ids } from '../../src/integrations/scope.ts'
import { axport, errorLine } from './executable.ts'
import { assessment, educator, organization, proctor, product } from './fixtures.ts'
import { use } from './hooks.ts'
import { postToken, tryList, type Answer as WholeAnswer } from './http.ts'
import { listen, load, openTestDatabase, type TestDatabase } from './service.ts'

export { LIST, newToken } from './http.ts'

/** Organizations 10 to 12, products 1 to 3, and three assessments. Organization 12 has no assessment. */
export const WORLD = [
  organization(10, 'Lakeside District'),
  organization(11, 'Oak Valley'),
  organization(12, 'Riverton'),
  product(1, 'Reading Observation'),
  product(2, 'Writing Observation'),
  product(3, 'Never Taken'),
  educator(501, { name: 'Ana Ruiz', first_name: 'Ana', last_name: 'Ruiz' }),
  proctor(77, 'Pat Proctor'),
  assessment(9001),
  assessment(9002, { organization_id: 11 }),
  assessment(9003, { product_id: 2 }),
]

/** Two services that share only their database, as two processes behind a load balancer do. */
interface TwoServices {
  sql: Sql
  /** A second connection pool on the same database. */
  otherSql: Sql
  url: string
  baseUrls: [string, string]
}

/** Two services on a database that holds WORLD, open while the tests of a group run. */
export const useTwoServices = (): TwoServices =>
  use(async () => {
    const database = await openWorld()
    const { sql, url } = database
    const other = await openDatabase(url, 5)
    const log = pino({ level: 'silent' })
    const servers = [database, other].map(db => listen(db, log))
    const baseUrls = servers.map(server => server.url) as [string, string]
    const close = async () => {
      for (const server of servers) await server.stop()
      await other.close()
      await database.close()
    }
    return { sql, otherSql: other.sql, url, baseUrls, close }
  })

/** Opens a database that contains WORLD. */
export async function openWorld(): Promise<TestDatabase> {
  const database = await openTestDatabase()
  await load(database.sql, WORLD)
  return database
}

/** Provisions an integration with a unique name. */
export async function provision(
  sql: Sql,
  organizations: Ids = ['10', '11'],
  products: Ids = ['1', '2'],
): Promise<Credentials & { name: string }> {
  const name = `Integration ${crypto.randomUUID()}`
  return { name, ...(await createIntegration(sql, name, organizations, products)) }
}

/** Status, challenge and body of an answer: the parts that do not differ from request to request. */
export interface Answer {
  status: number
  challenge: string | null
  body: Record<string, unknown>
}

const partsOf = ({ status, headers, body }: WholeAnswer): Answer => ({
  status,
  challenge: headers.get('www-authenticate'),
  body: body as Record<string, unknown>,
})

/** The answer of the token endpoint to these credentials. */
export async function requestToken(baseUrl: string, credentials: Credentials): Promise<Answer> {
  return partsOf(await postToken(baseUrl, credentials))
}

/** The answer of the list endpoint to this token. */
export async function getList(baseUrl: string, token: string): Promise<Answer> {
  return partsOf(await tryList(baseUrl, token, 'page=100'))
}

/** The ids in a list answer, in its order. */
export function ids({ status, body }: Answer): number[] {
  if (status !== 200) throw new Error(`${status}: ${JSON.stringify(body)}`)
  return (body.data as { id: number }[]).map(record => record.id)
}

/** Credentials and a token that the service has never issued. */
export const UNKNOWN_SECRET: Credentials = { clientId: 'x'.repeat(24), clientSecret: 'x'.repeat(43) }
export const UNKNOWN_TOKEN = 'x'.repeat(43)

/** Runs a command on a database and returns its standard output; throws if the command fails. */
export async function succeed(url: string, ...args: string[]): Promise<string> {
  const finished = await axport(args, { env: { DATABASE_URL: url } })
  if (finished.code !== 0) throw new Error(`axport ${args.join(' ')}: ${JSON.stringify(finished)}`)
  return finished.stdout
}

/** The error message of a command on a database; throws unless its exit code is 1. */
export async function refusal(url: string, ...args: string[]): Promise<string> {
  return errorLine(await axport(args, { env: { DATABASE_URL: url } }), 1)
}
