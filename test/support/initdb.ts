import { chown, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { PostgresBinaries } from './postgres-binaries.ts'

/** Makes the data folder `folder`/data of a cluster whose superuser is `postgres` with `password`. */
export async function initDataFolder(
  { initdb, owner }: PostgresBinaries,
  folder: string,
  password: string,
  locale: string,
): Promise<string> {
  const dataDir = join(folder, 'data')
  const passwordFile = join(folder, 'password')
  await writeFile(passwordFile, password, { mode: 0o600 })
  if (owner) await chown(passwordFile, owner.uid, owner.gid)
  const access = ['--username=postgres', '--auth=password', `--pwfile=${passwordFile}`]
  const text = [`--locale=${locale}`, '--encoding=UTF8']
  const run = Bun.spawn([initdb, `--pgdata=${dataDir}`, ...access, ...text, '--no-sync'], {
    cwd: folder,
    env: postgresEnvironment(),
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
    ...owner,
  })
  const complaint = await new Response(run.stderr).text()
  if ((await run.exited) !== 0) throw new Error(`initdb failed: ${complaint.trim()}`)
  return dataDir
}

/** Nothing of the caller's environment (PGOPTIONS, locale, time zone) may reach the server. */
export function postgresEnvironment(): Record<string, string> {
  return { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }
}
