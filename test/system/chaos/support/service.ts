import { type Served, serveWith } from '../../../support/served.ts'

/** The connections to the database that the service may hold. */
export const POOL = 4

/** In seconds: how long requests wait for the database, and STATEMENT_TIMEOUT, shorter than its default. */
const WAIT = 5
const STATEMENT = 3

/**
 * The longest time of an answer with these limits, in milliseconds: a request has two statements, and each may wait.
 */
export const LONGEST_MS = (2 * (WAIT + STATEMENT) + 3) * 1000

/** Starts `axport serve` with an admin port on a database. */
export async function startService(databaseUrl: string, env: Record<string, string> = {}): Promise<Served> {
  return await serveWith([], {
    DATABASE_URL: databaseUrl,
    DATABASE_POOL_SIZE: String(POOL),
    ADMIN_PORT: '0',
    STATEMENT_TIMEOUT: String(STATEMENT),
    ...env,
  })
}

/** The log lines of a service that are not about a single request or statement. */
export function stateLines(service: Served) {
  return service.log().filter(({ msg }) => msg !== 'request' && msg !== 'slow statement')
}
