import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { emptyFolder, ended, launch } from '../../support/executable.ts'
import { madeOnce } from '../../support/made-once.ts'
import type { Requirement } from '../../support/requires.ts'
import { runBun } from './npm.ts'

const ROOT = join(import.meta.dir, '..', '..', '..')

/** The first commit whose migrations 0001 to 0005 are those of today. */
export const OLD_COMMIT = 'e9c888452abb'

/** The old commit in the history; a source archive and a shallow clone do not have it. */
export const OLD_HISTORY: Requirement = {
  name: `the repository's history back to ${OLD_COMMIT}`,
  isHere: Bun.which('git') !== null && git('cat-file', '-e', `${OLD_COMMIT}^{commit}`).success,
}

function git(...args: string[]) {
  return Bun.spawnSync(['git', '-C', ROOT, ...args], { stderr: 'ignore' })
}

/** The names and texts of the migrations of the old commit. */
export function oldMigrations(): { name: string; sql: string }[] {
  const folder = `${OLD_COMMIT}:db/migrations`
  const files = git('ls-tree', '--name-only', folder).stdout.toString().trim().split('\n')
  return files.map(file => ({
    name: file.replace(/\.sql$/, ''),
    sql: git('show', `${folder}/${file}`).stdout.toString(),
  }))
}

/** Builds the executable of the old commit from its files and its bun.lock. */
export function oldExecutable(): Promise<string> {
  return madeOnce(`axport-${OLD_COMMIT}`, async outfile => {
    const folder = join(emptyFolder(), 'axport')
    mkdirSync(folder)
    const unpack = `git -C "$ROOT" archive ${OLD_COMMIT} | tar -x`
    const env = { PATH: process.env.PATH ?? '', ROOT }
    const { code, stderr } = await ended(launch(['/bin/sh', '-c', unpack], { cwd: folder, env }), {})
    if (code !== 0) throw new Error(`git cannot read the files of ${OLD_COMMIT}: ${stderr}`)
    await runBun(folder, 'install', '--frozen-lockfile', '--production')
    await runBun(folder, 'scripts/build.ts', '--outfile', outfile)
  })
}
