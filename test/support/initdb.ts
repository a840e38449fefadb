import { randomBytes } from 'node:crypto'
import { chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeClusterFolder } from './cluster-folder.ts'
import { madeOnce } from './made-once.ts'
import type { PostgresBinaries } from './postgres-binaries.ts'

/**
 * Makes the data folder `folder`/data of a new cluster, and returns the password of its superuser `postgres`. initdb
 * takes seconds, so it runs once per locale and test run; all clusters of that locale are copies.
 */
export async function newDataFolder(
  binaries: PostgresBinaries,
  folder: string,
  locale: string,
): Promise<string> {
  const name = `cluster-${Bun.hash(`${binaries.initdb} ${locale}`)}`
  const made = await madeOnce(name, async draft => {
    // If the tests run as root, initdb runs as another user, who may not enter the folder of the test run.
    const scratch = await makeClusterFolder(binaries.owner)
    await runInitdb(binaries, scratch, locale)
    await mkdir(draft)
    await copy(draft, join(scratch, 'data'), join(scratch, 'password'))
    await rm(scratch, { recursive: true })
  })
  await copy(folder, join(made, 'data'))
  return await readFile(join(made, 'password'), 'utf8')
}

async function runInitdb(binaries: PostgresBinaries, folder: string, locale: string): Promise<void> {
  const { initdb, owner, major } = binaries
  // The cluster has a password because this machine may have other users, and because tests try wrong passwords.
  const passwordFile = join(folder, 'password')
  await writeFile(passwordFile, randomBytes(16).toString('hex'), { mode: 0o600 })
  if (owner) await chown(passwordFile, owner.uid, owner.gid)
  const access = ['--username=postgres', '--auth=password', `--pwfile=${passwordFile}`]
  const text = [`--locale=${locale}`, '--encoding=UTF8']
  // By default every login hashes the password 4,096 times. Postgres 15 has no setting for the number.
  const hashing = major > 15 ? ['--set=scram_iterations=1'] : []
  const command = [initdb, `--pgdata=${join(folder, 'data')}`, ...access, ...text, ...hashing, '--no-sync']
  await run(command, { cwd: folder, env: postgresEnvironment(), ...owner })
}

/** Copies files with their owners and permissions, which Postgres checks. */
export const copy = (to: string, ...from: string[]) => run(['cp', '-Rp', ...from, to], {})

async function run(
  command: string[],
  options: { cwd?: string; env?: Record<string, string>; uid?: number; gid?: number },
): Promise<void> {
  const child = Bun.spawn(command, { ...options, stdin: 'ignore', stdout: 'ignore', stderr: 'pipe' })
  const stderr = await new Response(child.stderr).text()
  if ((await child.exited) !== 0) throw new Error(`${command[0]} failed: ${stderr.trim()}`)
}

/** The environment of the server. It contains none of the tests' variables, such as PGOPTIONS, locale or time zone. */
export function postgresEnvironment(): Record<string, string> {
  return { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }
}
