import { existsSync, renameSync, writeFileSync } from 'node:fs'
import { chmod, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Programs } from '../../../src/database/private-server/programs.ts'
import { postgresPrograms } from '../../support/postgres-programs.ts'
import type { Requirement } from '../../support/requires.ts'

const LIBRARY = ['x86_64', 'aarch64']
  .map(machine => `/usr/lib/${machine}-linux-gnu/faketime/libfaketime.so.1`)
  .find(path => existsSync(path))

/** The library that shows programs another time. */
export const FAKETIME: Requirement = {
  name: 'libfaketime',
  debianPackage: 'libfaketime',
  isHere: LIBRARY !== undefined,
}

/** A clock that the test sets for programs started under it. Monotonic clocks are unchanged. */
export interface FakedClock {
  /** The environment that a program needs. */
  env: Record<string, string>
  /** The programs of the Postgres of npm, under this clock. */
  postgres(): Promise<Programs>
  /** Sets the clock this many seconds ahead of the machine's clock; a negative number sets it back. */
  set(seconds: number): void
  remove(): Promise<void>
}

/** Makes a clock that shows the machine's time until set() is called. */
export async function fakedClock(): Promise<FakedClock> {
  const folder = await mkdtemp(join(await realpath(tmpdir()), 'axport-clock-'))
  // A Postgres that runs as another user must be able to read the folder.
  await chmod(folder, 0o755)
  const offset = join(folder, 'offset')
  const set = (seconds: number) => {
    // A program that found the file empty would see the machine's time.
    writeFileSync(`${offset}.new`, `${seconds < 0 ? '' : '+'}${seconds}\n`)
    renameSync(`${offset}.new`, offset)
  }
  set(0)
  const env = {
    LD_PRELOAD: LIBRARY ?? '',
    FAKETIME_TIMESTAMP_FILE: offset,
    FAKETIME_NO_CACHE: '1',
    DONT_FAKE_MONOTONIC: '1',
  }
  const postgres = async () => {
    const found = await postgresPrograms()
    const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`)
    for (const name of ['postgres', 'initdb']) {
      const script = `#!/bin/sh
exec env ${variables.join(' ')} ${join(found.folder, name)} "$@"
`
      await writeFile(join(folder, name), script, { mode: 0o755 })
    }
    return { ...found, folder }
  }
  return { env, postgres, set, remove: () => rm(folder, { recursive: true, force: true }) }
}
