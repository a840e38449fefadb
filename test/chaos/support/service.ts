import { type Running, start } from '../../support/executable.ts'
import { freePort } from '../../support/free-port.ts'

/** A running `axport serve` with both its ports. */
export interface Service extends Running {
  url: string
  adminUrl: string
}

/** Connections to the database that one process of the service may hold. */
export const POOL = 4

/** Starts the executable on a database and waits until both ports answer. */
export async function startService(
  databaseUrl: string,
  { workers = 1, env = {} }: { workers?: number; env?: Record<string, string> } = {},
): Promise<Service> {
  const adminPort = await freePort()
  const running = await start(workers > 1 ? ['serve', '--workers', String(workers)] : ['serve'], {
    env: {
      DATABASE_URL: databaseUrl,
      DATABASE_POOL_SIZE: String(POOL),
      // A worker needs to be told its port.
      PORT: String(await freePort()),
      ADMIN_PORT: String(adminPort),
      ...env,
    },
  })
  const [line = ''] = await running.shows(/^.*"listening".*\n/m)
  const adminUrl = `http://127.0.0.1:${adminPort}`
  return { ...running, url: (JSON.parse(line) as { url: string }).url, adminUrl }
}

/** The lines of a service's log that are not about a single request, parsed. */
export function stateLines({ stdout }: Running): Record<string, unknown>[] {
  return stdout()
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Record<string, unknown>)
    .filter(({ msg }) => msg !== 'request')
}
