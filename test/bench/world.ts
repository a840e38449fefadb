import { copyFileSync, existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import postgres from 'postgres'
import { emptyFolder, executable } from '../support/executable.ts'
import { startCluster } from '../support/own-cluster.ts'
import type { Options } from './options.ts'
import { timedImport, writeSample } from './program.ts'
import { Side } from './side.ts'

/**
 * The settings of Postgres: the safe defaults, with a cache for the often used data and with rare checkpoints. Vacuum runs
 * once, after the first import, so that it disturbs no round.
 */
const SETTINGS = {
  fsync: 'on',
  full_page_writes: 'on',
  shared_buffers: '1GB',
  max_wal_size: '8GB',
  autovacuum: 'off',
}

/** The sides that are measured: the present executable and, with --before, another one. */
export interface World {
  sides: [present: Side, ...before: Side[]]
  postgres: string
  close(): Promise<void>
}

/** Starts a Postgres, and gives each side a database that its own executable migrates and loads. */
export async function createWorld(options: Options, say: (text: string) => void): Promise<World> {
  const present = await executable()
  const cluster = await startPostgres(options.postgres)
  const sql = postgres(cluster.url(), { max: 1, onnotice: () => {} })
  const opened = [sql]
  const close = async () => {
    await Promise.all(opened.map(each => each.end({ timeout: 0 })))
    await cluster.stop()
  }
  try {
    const file = await writeSample(present, options.records, emptyFolder())
    const fill = async (original: string, name: string) => {
      // The memory of a process counts 37 or 43 MB of the same executable, which depends on how its file was written.
      const program = join(emptyFolder(), 'axport')
      copyFileSync(original, program)
      say(`loading ${options.records} assessments by ${program} …`)
      await sql`create database ${sql(name)}`
      const own = postgres(cluster.url(name), { max: 1, onnotice: () => {} })
      opened.push(own)
      const side = new Side(program, cluster.url(name), own, file, options)
      await side.axport(['migrate', '--time-zone', 'UTC'])
      await timedImport(program, side.databaseUrl, file)
      await own`vacuum (analyze)`
      return side
    }
    const sides: World['sides'] = [await fill(present, 'present')]
    if (options.before) sides.push(await fill(resolve(options.before), 'before'))
    const [row] = await sql<{ server_version: string }[]>`show server_version`
    return { sides, postgres: row?.server_version ?? '', close }
  } catch (error) {
    await close()
    throw error
  }
}

function startPostgres(major: number | undefined) {
  if (major === undefined) return startCluster({ settings: SETTINGS })
  const folder = `/usr/lib/postgresql/${major}/bin`
  if (!existsSync(folder))
    throw new Error(`Postgres ${major} is not installed: apt-get install postgresql-${major}`)
  return startCluster({ settings: SETTINGS, programs: { folder, major } })
}
