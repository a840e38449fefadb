import { databaseReadUrl, setting } from '../config.ts'
import { Failure } from '../errors.ts'
import { type Database, openingOf } from '../postgres/database.ts'
import type { StateLog } from '../postgres/pool/availability.ts'
import type { PoolBounds } from '../postgres/pool/connection-pool.ts'
import type { ServingDatabase } from '../postgres/pool/serving-database.ts'
import { type ReadServer, readServers } from '../postgres/standby/read-servers.ts'
import { Replicas } from '../postgres/standby/replicas.ts'

/**
 * The servers of DATABASE_READ_URL; none when it is not set.
 * @throws Failure for settings that are wrong
 */
export function standbyServers(): ReadServer[] {
  if (databaseReadUrl() === undefined) return []
  return readServers(() => {
    const url = databaseReadUrl()
    if (url === undefined) throw new Failure('DATABASE_READ_URL is not set any more')
    return url
  })
}

/** The standbys that a process that serves reads from; undefined when DATABASE_READ_URL is not set. */
export async function openReplicas(
  database: Database,
  primary: ServingDatabase,
  bounds: PoolBounds,
  log: StateLog,
): Promise<Replicas | undefined> {
  const servers = database.kind === 'postgres' ? standbyServers() : []
  if (servers.length === 0) return undefined
  return await Replicas.open({
    servers: servers.map(({ name, url }) => ({ name, open: openingOf(url, bounds, log) })),
    primary: primary.open,
    bounds,
    maxLagMs: setting('READ_LAG'),
    log,
  })
}
