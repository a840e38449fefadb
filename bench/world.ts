import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import postgres, { type Sql } from 'postgres'
import type { Credentials } from '../test/support/walk.ts'
import { atExit } from './at-exit.ts'
import { axport, timedImport, writeSample } from './executable.ts'
import type { Options } from './options.ts'
import { startPostgres } from './own-postgres.ts'
import type { Ended } from './program.ts'

/** An executable with a database of its schema. */
export interface Deployment {
  executable: string
  databaseUrl: string
}

/** The environment of all measures, and the deployment that is measured. */
export interface World extends Deployment {
  options: Options
  /** The earlier executable with the same data; undefined without --before. */
  before: Deployment | undefined
  /** A folder for files, which is removed in the end. */
  folder: string
  /** The number of assessments. */
  records: number
  sql: Sql
  /** The imported file with the result of the import; undefined if the database already had the data. */
  source: (Ended & { file: string }) | undefined
  /** Opens a new connection. */
  connect(databaseUrl: string): Sql
  /** Creates another database in the same Postgres with `records` assessments; undefined with --database. */
  another(records: number): Promise<Deployment | undefined>
  /** Runs `work` on an empty database in the same Postgres; undefined with --database. */
  onEmpty: (<Value>(work: (databaseUrl: string) => Promise<Value>) => Promise<Value>) | undefined
  /** Returns an integration with this scope, which the first call creates. */
  provision(deployment: Deployment, scope: Scope): Promise<Credentials>
  close(): Promise<void>
}

/** The ids of the organizations and products that an integration may read. */
export interface Scope {
  organizations: string[]
  products: string[]
}

/** Creates a database with data, or uses the one at --database. */
export async function createWorld(
  options: Options,
  executable: string,
  say: (text: string) => void,
): Promise<World> {
  const cluster = options.database ? undefined : await startPostgres(options.postgres)
  const folder = mkdtempSync(join(tmpdir(), 'axport-bench-'))
  const removeFolder = () => rmSync(folder, { recursive: true, force: true })
  atExit(removeFolder)
  const databaseUrl = options.database ?? (cluster?.url() as string)
  const connect = (url: string) => postgres(url, { max: 1, onnotice: () => {} })
  const sql = connect(databaseUrl)
  const provisioned = new Map<string, Credentials>()

  const fill = async (deployment: Deployment, records: number) => {
    say(`making and importing ${records} assessments …`)
    await axport(deployment.executable, ['migrate'], { DATABASE_URL: deployment.databaseUrl })
    const file = await writeSample(executable, records, folder)
    return { file, ...(await timedImport(deployment.executable, deployment.databaseUrl, file)) }
  }
  const deploy = async (executable: string, name: string, records: number) => {
    if (!cluster) return undefined
    await sql`create database ${sql(name)}`
    const deployment = { executable, databaseUrl: cluster.url(name) }
    await fill(deployment, records)
    return deployment
  }
  const another = (records: number) => deploy(executable, `records_${records}`, records)
  const onEmpty = async <Value>(work: (url: string) => Promise<Value>) => {
    await sql`create database empty`
    try {
      return await work(cluster?.url('empty') ?? '')
    } finally {
      await sql`drop database empty with (force)`
    }
  }
  const provision = async (deployment: Deployment, scope: Scope) => {
    const key = JSON.stringify([deployment.databaseUrl, scope])
    const known = provisioned.get(key)
    if (known) return known
    const credentials = await createIntegration(deployment, scope)
    provisioned.set(key, credentials)
    return credentials
  }
  const close = async () => {
    await sql.end()
    if (options.database) {
      // The integrations are removed again, because the database at --database belongs to the user.
      for (const { client_id } of provisioned.values()) {
        await axport(executable, ['integration', 'delete', client_id, '--yes'], { DATABASE_URL: databaseUrl })
      }
    }
    await cluster?.stop()
    removeFolder()
  }
  const own = { another, onEmpty: cluster && onEmpty, provision, close }
  const world = { options, executable, folder, databaseUrl, sql, connect, ...own }
  try {
    const source = options.database ? undefined : await fill(world, options.records)
    const before = options.before
      ? await deploy(resolve(options.before), 'before', options.records)
      : undefined
    return { ...world, source, before, records: await countRecords(sql) }
  } catch (error) {
    await close()
    throw error
  }
}

/** Creates an integration with this scope through the command line. */
export async function createIntegration(
  { executable, databaseUrl }: Deployment,
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
