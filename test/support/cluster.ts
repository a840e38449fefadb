import { randomInt } from 'node:crypto'
import postgres from 'postgres'
import { startCluster } from './own-cluster.ts'

export { type ClusterOptions, type OwnCluster, startCluster } from './own-cluster.ts'

/** The Postgres that the tests of one process share. */
interface Cluster {
  /** A superuser's postgres:// URL of one of its databases (default: the maintenance database). */
  url(database?: string): string
  /** Stops the server, or only disconnects from the one at TEST_DATABASE_URL. Tests need not call it at their end. */
  stop(): Promise<void>
  dataDir?: string
  pid?: number
}

/** A database for one test file or one test. */
export interface TestDatabase {
  url: string
  /** Removes the database and closes the connections that are still open to it. */
  drop(): Promise<void>
}

interface Shared {
  cluster: Cluster
  /** One connection for the whole process, because Postgres runs one `create database` at a time. */
  admin: postgres.Sql
  /** The beginning of the name of every database that this process creates. */
  prefix: string
}

// An arbitrary number that distinguishes this advisory lock from those of other programs.
const lockClass = 1_635_284_595

let shared: Promise<Shared> | undefined
const templates = new Map<string, Promise<string>>()
let databases = 0

/**
 * The shared Postgres: the server at TEST_DATABASE_URL, or one that the first call starts and that ends with this
 * process.
 */
export async function cluster(): Promise<Cluster> {
  return (await share()).cluster
}

/**
 * Creates a copy of a template database. `prepare` fills the template once per process and `templateKey`, and must
 * close its connections. A copy takes milliseconds; copies do not share later changes.
 */
export async function freshDatabase(
  templateKey: string,
  prepare: (url: string) => Promise<void>,
): Promise<TestDatabase> {
  let template = templates.get(templateKey)
  if (!template) {
    template = makeTemplate(prepare)
    templates.set(templateKey, template)
  }
  return createDatabase(await template)
}

/** Creates an empty database. @param options of `create database`, as its locale */
export function emptyDatabase(options = ''): Promise<TestDatabase> {
  return createDatabase('template0', options)
}

async function makeTemplate(prepare: (url: string) => Promise<void>): Promise<string> {
  const { admin } = await share()
  const { url } = await emptyDatabase()
  await prepare(url)
  const name = new URL(url).pathname.slice(1)
  // Postgres copies a database only while no client is connected to it.
  await admin.unsafe(`alter database ${name} allow_connections false`)
  await admin`select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = ${name}`
  return name
}

async function createDatabase(template: string, options = ''): Promise<TestDatabase> {
  const { cluster, admin, prefix } = await share()
  const name = `${prefix}${++databases}`
  await admin.unsafe(
    `create database ${name} template ${template} encoding 'UTF8' strategy file_copy ${options}`,
  )
  return {
    url: cluster.url(name),
    drop: async () => {
      await admin.unsafe(`drop database if exists ${name} with (force)`)
    },
  }
}

function share(): Promise<Shared> {
  shared ??= open().catch(error => {
    // The next test tries again: `bun test` may have killed the server's start when this test timed out.
    shared = undefined
    throw error
  })
  return shared
}

async function open(): Promise<Shared> {
  const given = process.env.TEST_DATABASE_URL
  const server: Cluster = given ? givenCluster(given) : await startCluster()
  // This connection holds the advisory lock of the run, so postgres.js must never replace it.
  const admin = postgres(server.url(), { max: 1, max_lifetime: null, idle_timeout: 0, onnotice: () => {} })
  const run = randomInt(1, 2 ** 31)
  await admin`select pg_advisory_lock(${lockClass}::int, ${run}::int)`
  if (given) await dropLeftovers(admin)
  const stop = async () => {
    shared = undefined
    templates.clear()
    await admin.end({ timeout: 0 })
    await server.stop()
  }
  return { cluster: { ...server, url: name => server.url(name), stop }, admin, prefix: `axport_test_${run}_` }
}

function givenCluster(given: string): Cluster {
  return {
    url: database => {
      const url = new URL(given)
      if (database) url.pathname = `/${database}`
      return url.href
    },
    stop: async () => {},
  }
}

/** Drops the databases of earlier runs on a server that outlives the tests. A run that is over holds no lock. */
async function dropLeftovers(admin: postgres.Sql): Promise<void> {
  const leftovers = await admin<{ name: string }[]>`
    select datname as name from pg_database
    where substring(datname from '^axport_test_(\\d+)_') not in (
      select objid::text from pg_locks
      where locktype = 'advisory' and classid = ${lockClass}
        and database = (select oid from pg_database where datname = current_database())
    )`
  for (const { name } of leftovers) await admin.unsafe(`drop database if exists ${name} with (force)`)
}
