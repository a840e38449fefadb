import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { cleanUp } from '../../support/executable.ts'
import { use } from '../../support/hooks.ts'
import { type OwnCluster, startCluster } from '../../support/own-cluster.ts'
import type { Requirement } from '../../support/requires.ts'

export const PROGRAMS_15 = { folder: '/usr/lib/postgresql/15/bin', major: 15 }

/** The oldest supported Postgres, from its Debian package. */
export const POSTGRES_15: Requirement = {
  name: 'Postgres 15',
  debianPackage: 'postgresql-15',
  isHere: existsSync(client('postgres')) && existsSync(client('pg_dump')),
}

/** Writes a dump of a database, in the custom format, into `file`. */
export async function dump(url: string, file: string): Promise<void> {
  await run(['pg_dump', '--format=custom', `--file=${file}`, url])
}

/** Restores a dump into a database; `options` are those of pg_restore. */
export async function restore(file: string, url: string, ...options: string[]): Promise<void> {
  await run(['pg_restore', '--exit-on-error', ...options, `--dbname=${url}`, file])
}

async function run([program = '', ...args]: string[]): Promise<void> {
  const child = Bun.spawn([client(program), ...args], {
    // In a deadlock, the session that checks first is cancelled. The reader checks after a second, pg_restore after 60.
    env: { PATH: process.env.PATH ?? '', PGOPTIONS: '-c deadlock_timeout=60s' },
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
  })
  const stderr = await new Response(child.stderr).text()
  if ((await child.exited) !== 0) throw new Error(`${program}: ${stderr.trim()}`)
}

function client(program: string): string {
  return join(PROGRAMS_15.folder, program)
}

/** Runs Debian's Postgres 15 with these settings for the tests of a group, and stops all processes after them. */
export const usePostgres15 = (settings?: Record<string, string>): { cluster: OwnCluster } =>
  use(async () => {
    const cluster = await startCluster({ programs: PROGRAMS_15, ...(settings && { settings }) })
    const close = async () => {
      await cleanUp()
      await cluster.stop()
    }
    return { cluster, close }
  })
