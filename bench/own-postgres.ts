import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type OwnCluster, startCluster } from '../test/support/own-cluster.ts'
import { debianBinaries } from '../test/support/postgres-binaries.ts'

/**
 * The settings of Postgres: the safe defaults, with a cache for the often used data and with rare checkpoints. Vacuum
 * runs after the import only, so that it disturbs no round. The log is JSON, which sent-queries.ts reads.
 */
export const SETTINGS = {
  fsync: 'on',
  full_page_writes: 'on',
  shared_buffers: '1GB',
  max_wal_size: '8GB',
  autovacuum: 'off',
  logging_collector: 'on',
  log_destination: 'jsonlog',
  log_rotation_size: '0',
}

/**
 * Starts a Postgres of a major version as Debian installs it; by default, the Postgres of the tests.
 * @throws Error if that version is not installed
 */
export async function startPostgres(major: number | undefined): Promise<OwnCluster> {
  const debian = major === undefined ? undefined : debianBinaries(major)
  const isThere = debian !== undefined && existsSync(debian.postgres)
  const cluster = await startCluster({ settings: SETTINGS, ...(isThere && { binaries: debian }) })
  const found = Number.parseInt(await readFile(join(cluster.dataDir, 'PG_VERSION'), 'utf8'), 10)
  if (major === undefined || found === major) return cluster
  await cluster.stop()
  throw new Error(`Postgres ${major} is not installed: apt-get install postgresql-${major}`)
}
