import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { emptyFolder, ended, launch } from '../../support/executable.ts'

/**
 * Copies a folder of test/system with a package.json and a bun.lock to a new folder, installs its packages there, and
 * returns the copy. These packages are large, or need another version of a package than the project.
 */
export async function installed(folder: string): Promise<string> {
  const copy = join(emptyFolder(), folder)
  cpSync(join(import.meta.dir, '..', folder), copy, { recursive: true })
  await runBun(copy, 'install', '--frozen-lockfile')
  return copy
}

/** Runs Bun in a folder, with a program there or one of a package, and returns the standard output. */
export async function runBun(cwd: string, ...command: string[]): Promise<string> {
  const env = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', NO_COLOR: '1' }
  const { code, stdout, stderr } = await ended(launch([process.execPath, ...command], { cwd, env }), {})
  if (code !== 0) throw new Error(`${command.join(' ')} failed: ${stdout}${stderr}`)
  return stdout
}
