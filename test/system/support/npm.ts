import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { emptyFolder, ended, launch } from '../../support/executable.ts'

/**
 * Copies a folder of test/system that has a package.json and a bun.lock to a place of its own, and installs its
 * packages there: they are large, or need another version of what the project has. Returns the copy.
 */
export async function installed(folder: string): Promise<string> {
  const copy = join(emptyFolder(), folder)
  cpSync(join(import.meta.dir, '..', folder), copy, { recursive: true })
  await runBun(copy, 'install', '--frozen-lockfile')
  return copy
}

/** Runs Bun in a folder, with a program there or one that a package brought; returns what that prints. */
export async function runBun(cwd: string, ...command: string[]): Promise<string> {
  const env = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', NO_COLOR: '1' }
  const { code, stdout, stderr } = await ended(launch([process.execPath, ...command], { cwd, env }), {})
  if (code !== 0) throw new Error(`${command.join(' ')} failed: ${stdout}${stderr}`)
  return stdout
}
