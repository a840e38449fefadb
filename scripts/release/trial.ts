import { mkdtempSync, rmSync } from 'node:fs'
import { arch, platform, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Target } from './targets.ts'

/** The emulator for ARM64 in Debian's qemu-user-static, with the libraries of libc6-arm64-cross. */
const ARM64 = ['qemu-aarch64-static', '-L', '/usr/aarch64-linux-gnu']

/**
 * Runs an executable in an empty folder: its version, and without an emulator also a first migration of the embedded
 * database. All Linux targets are tried; the one of this machine must run.
 * @returns the reason for which the executable could not be started; undefined if it ran
 * @throws Error if the executable ran and failed
 */
export async function tryOut(
  executable: string,
  target: Target,
  expected: { version: string; commit: string },
): Promise<string | undefined> {
  const isOwn = target.name === `${platform()}-${arch()}`
  if (!isOwn && (platform() !== 'linux' || target.header.format !== 'ELF')) return 'another system'
  const emulator = target.header.machine === arch() ? [] : ARM64
  if (emulator[0] && !Bun.which(emulator[0])) return `there is no ${emulator[0]}`
  const folder = mkdtempSync(join(tmpdir(), 'axport-trial-'))
  const run = (...args: string[]) => runIn(folder, [...emulator, executable, ...args])
  try {
    const version = await run('version', '--json')
    if (!version.isStarted && !isOwn) return version.words
    const said = version.stdout.startsWith('{') ? JSON.parse(version.stdout) : {}
    if (said.version !== expected.version || (said.commit ?? '') !== expected.commit)
      throw new Error(`${target.name} does not know its version: ${version.stdout}${version.words}`)
    // In an emulator, the embedded database takes minutes to start.
    if (emulator.length > 0) return undefined
    const migration = await run('migrate', '--time-zone', 'America/Chicago')
    if (migration.code !== 0) throw new Error(`${target.name} does not migrate: ${migration.words}`)
    return undefined
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Exit codes for a missing loader or library. */
const NOT_LOADED = [127, 255]

async function runIn(cwd: string, command: string[]) {
  const env = { DATABASE_URL: 'embedded:./data' }
  try {
    const run = Bun.spawn(command, { cwd, env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
    const [stdout, stderr] = await Promise.all([
      new Response(run.stdout).text(),
      new Response(run.stderr).text(),
    ])
    const code = await run.exited
    return { isStarted: !NOT_LOADED.includes(code), code, stdout, words: stderr.split('\n', 1)[0] ?? '' }
  } catch (error) {
    // The loader that the executable names is not on this machine.
    return { isStarted: false, code: null, stdout: '', words: (error as Error).message }
  }
}
