import { type Running, start } from '../../../support/executable.ts'
import { freePort } from '../../../support/free-port.ts'
import { until } from '../../../support/until.ts'

/** A running `axport serve` with both its ports. */
export interface Service extends Running {
  url: string
  adminUrl: string
}

/** Connections to the database that one process of the service may hold. */
export const POOL = 4

/** Seconds, shorter than the defaults so that an outage does not take a minute to be one. */
const WAIT = 1
const STATEMENT = 3

/** Milliseconds that any answer may take with them: a request has two statements, each of which may wait. */
export const LONGEST_MS = (2 * (WAIT + STATEMENT) + 3) * 1000

/** Starts the executable on a database and waits until it is ready. */
export async function startService(
  databaseUrl: string,
  { workers = 1, env = {} }: { workers?: number; env?: Record<string, string> } = {},
): Promise<Service> {
  const [port, adminPort] = [await freePort(), await freePort()]
  const running = await start(workers > 1 ? ['serve', '--workers', String(workers)] : ['serve'], {
    env: {
      DATABASE_URL: databaseUrl,
      DATABASE_POOL_SIZE: String(POOL),
      PORT: String(port),
      ADMIN_PORT: String(adminPort),
      DATABASE_WAIT: String(WAIT),
      STATEMENT_TIMEOUT: String(STATEMENT),
      ...env,
    },
  })
  const service = { ...running, url: `http://127.0.0.1:${port}`, adminUrl: `http://127.0.0.1:${adminPort}` }
  await until(
    'the service is ready, or has ended',
    async () => (await isReady(service)) || hasEnded(running),
    60_000,
  )
  if (hasEnded(running)) throw new Error(`it ended: ${running.stderr()}`)
  return service
}

const hasEnded = ({ exitCode }: Running) => exitCode() !== undefined

async function isReady({ adminUrl }: Service): Promise<boolean> {
  return await fetch(`${adminUrl}/ready`).then(
    ({ status }) => status === 200,
    () => false,
  )
}

/** The lines of a service's log that are not about a single request or its statement, parsed. */
export function stateLines({ stdout }: Running): Record<string, unknown>[] {
  return stdout()
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Record<string, unknown>)
    .filter(({ msg }) => msg !== 'request' && msg !== 'slow statement')
}
