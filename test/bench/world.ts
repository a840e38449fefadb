import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres, { type Sql } from 'postgres'
import { type OwnCluster, startCluster } from '../support/own-cluster.ts'
import { debianBinaries } from '../support/postgres-binaries.ts'
import type { Credentials } from '../support/walk.ts'
import { atExit } from './at-exit.ts'
import { axport, timedImport, writeSample } from './executable.ts'
import type { Options } from './options.ts'
import type { Ended } from './program.ts'

/** The environment of all measures. */
export interface World {
  options: Options
  executable: string
  /** A folder for files, which is removed in the end. */
  folder: string
  databaseUrl: string
  /** The number of assessments. */
  records: number
  sql: Sql
  /** The imported file with the result of the import; undefined if the database already had the data. */
  source: (Ended & { file: string }) | undefined
  /** Opens a new connection. */
  connect(databaseUrl: string): Sql
  /** Creates another database in the same Postgres with `records` assessments; undefined with --database. */
  another(records: number): Promise<string | undefined>
  /** Runs `work` on an empty database in the same Postgres; undefined with --database. */
  onEmpty: (<Value>(work: (databaseUrl: string) => Promise<Value>) => Promise<Value>) | undefined
  /** Runs `work` with the primary and with new standbys, which are stopped afterwards; undefined with --database. */
  replicated:
    | (<Value>(
        count: number,
        work: (primary: OwnCluster, standbys: OwnCluster[]) => Promise<Value>,
      ) => Promise<Value>)
    | undefined
  /** Returns an integration with this scope, which the first call creates. */
  provision(databaseUrl: string, scope: Scope): Promise<Credentials>
  close(): Promise<void>
}

/** The ids of the organizations and products that an integration may read. */
export interface Scope {
  organizations: string[]
  products: string[]
}

/**
 * The settings of Postgres: the safe defaults, with a cache for the often used data and with rare checkpoints. Vacuum
 * runs after the import only, so that it disturbs no round.
 */
export const SETTINGS = {
  fsync: 'on',
  full_page_writes: 'on',
  shared_buffers: '1GB',
  max_wal_size: '8GB',
  autovacuum: 'off',
}

/** Creates a database with data, or uses the one at --database. */
export async function createWorld(
  options: Options,
  executable: string,
  say: (text: string) => void,
): Promise<World> {
  const cluster = options.database ? undefined : await startPostgres(options)
  const folder = mkdtempSync(join(tmpdir(), 'axport-bench-'))
  const removeFolder = () => rmSync(folder, { recursive: true, force: true })
  atExit(removeFolder)
  const databaseUrl = options.database ?? (cluster?.url() as string)
  const connect = (url: string) => postgres(url, { max: 1, onnotice: () => {} })
  const sql = connect(databaseUrl)
  const provisioned = new Map<string, { url: string; credentials: Credentials }>()

  const fill = async (url: string, records: number) => {
    say(`making and importing ${records} assessments …`)
    await axport(executable, ['migrate'], { DATABASE_URL: url })
    const file = await writeSample(executable, records, folder)
    return { file, ...(await timedImport(executable, url, file)) }
  }
  const another = async (records: number) => {
    if (!cluster) return undefined
    const name = `records_${records}`
    await sql.unsafe(`create database ${name}`)
    await fill(cluster.url(name), records)
    return cluster.url(name)
  }
  const onEmpty = async <Value>(work: (url: string) => Promise<Value>) => {
    await sql`create database empty`
    try {
      return await work(cluster?.url('empty') ?? '')
    } finally {
      await sql`drop database empty with (force)`
    }
  }
  const replicated: World['replicated'] =
    cluster &&
    (async (count, work) => {
      const standbys: OwnCluster[] = []
      try {
        for (let n = 0; n < count; n++) standbys.push(await cluster.startStandby())
        return await work(cluster, standbys)
      } finally {
        for (const standby of standbys) await standby.stop()
      }
    })
  const provision = async (url: string, scope: Scope) => {
    const key = JSON.stringify([url, scope])
    const known = provisioned.get(key)?.credentials
    if (known) return known
    const credentials = await createIntegration(executable, url, scope)
    provisioned.set(key, { url, credentials })
    return credentials
  }
  const close = async () => {
    await sql.end()
    if (options.database) {
      // The integrations are removed again, because the database at --database belongs to the user.
      for (const { url, credentials } of provisioned.values()) {
        await axport(executable, ['integration', 'delete', credentials.client_id, '--yes'], {
          DATABASE_URL: url,
        })
      }
    }
    await cluster?.stop()
    removeFolder()
  }
  const own = { another, onEmpty: cluster && onEmpty, replicated, provision, close }
  const world = { options, executable, folder, databaseUrl, sql, connect, ...own }
  try {
    const source = options.database ? undefined : await fill(databaseUrl, options.records)
    return { ...world, source, records: await countRecords(sql) }
  } catch (error) {
    await close()
    throw error
  }
}

/** Starts the Postgres of the requested version. */
async function startPostgres({ postgres: major }: Options): Promise<OwnCluster> {
  const debian = major === undefined ? undefined : debianBinaries(major)
  const isThere = debian !== undefined && existsSync(debian.postgres)
  const cluster = await startCluster({ settings: SETTINGS, ...(isThere && { binaries: debian }) })
  const found = Number.parseInt(await readFile(join(cluster.dataDir, 'PG_VERSION'), 'utf8'), 10)
  if (major === undefined || found === major) return cluster
  await cluster.stop()
  throw new Error(`Postgres ${major} is not installed: apt-get install postgresql-${major}`)
}

/** Creates an integration with this scope through the command line. */
export async function createIntegration(
  executable: string,
  databaseUrl: string,
  { organizations, products }: Scope,
): Promise<Credentials> {
  const ids = ['--organizations', organizations.join(), '--products', products.join()]
  const command = ['integration', 'create', 'Benchmark', ...ids, '--json']
  return JSON.parse(await axport(executable, command, { DATABASE_URL: databaseUrl })) as Credentials
}

async function countRecords(sql: Sql): Promise<number> {
  const [row] = await sql<{ count: number }[]>`select count(*)::integer as count from export_records`
  if (!row?.count) throw new Error('the database has no assessments')
  return row.count
}
