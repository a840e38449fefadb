import { randomBytes } from 'node:crypto'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openDatabase } from '../../src/database/database.ts'
import {
  newPlace,
  type Place,
  socketUrl,
  startServer,
} from '../../src/database/private-server/private-server.ts'
import { madeOnce } from './made-once.ts'
import { until } from './until.ts'

// The cluster has a password because this machine may have other users, and because tests try wrong passwords.
const ACCESS = `
local all all trust
host all all all password
host replication all all password
`

/**
 * The data folder of a new cluster, and the password of its superuser. initdb takes seconds, so it runs once per locale
 * and test run; all clusters of that locale are copies.
 */
export async function clusterTemplate(
  { programs }: Place,
  locale: string,
): Promise<{ template: string; password: string }> {
  const made = await madeOnce(`cluster-${Bun.hash(`${programs.folder} ${locale}`)}`, draft =>
    make(newPlace(programs), locale, draft),
  )
  return { template: join(made, 'data'), password: await readFile(join(made, 'password'), 'utf8') }
}

async function make(place: Place, locale: string, draft: string): Promise<void> {
  const password = randomBytes(16).toString('hex')
  // By default every login hashes the password 4,096 times. Postgres 15 has no setting for the number.
  const settings: Record<string, string> = place.programs.major > 15 ? { scram_iterations: '1' } : {}
  const server = await startServer(place, { locale, settings })
  const { sql, close } = await openDatabase(socketUrl(place.folder), 1)
  await sql.unsafe(`alter role postgres password '${password}'`)
  await close()
  process.kill(await pidIn(place), 'SIGINT')
  await until('Postgres has shut down', server.hasEnded, 30_000)
  await mkdir(draft)
  // The user of the servers copies it.
  await chmod(draft, 0o711)
  await copyFolder(place.data, draft)
  await writeFile(join(draft, 'data', 'pg_hba.conf'), ACCESS)
  await writeFile(join(draft, 'password'), password, { mode: 0o600 })
  await server.end()
}

/** The process of the server in a place. */
export async function pidIn({ data }: Place): Promise<number> {
  return Number.parseInt(await readFile(join(data, 'postmaster.pid'), 'utf8'), 10)
}

/** Copies a folder with the owners and permissions of its files, which Postgres checks. */
export async function copyFolder(from: string, to: string): Promise<void> {
  const child = Bun.spawn(['cp', '-Rp', from, to], { stdin: 'ignore', stderr: 'pipe' })
  const stderr = await new Response(child.stderr).text()
  if ((await child.exited) !== 0) throw new Error(`cp failed: ${stderr.trim()}`)
}
