import { arch, platform, tmpdir } from 'node:os'
import type { Target } from './targets.ts'

/** The emulator for ARM64 in Debian's qemu-user-static, with the libraries of libc6-arm64-cross. */
const ARM64 = ['qemu-aarch64-static', '-L', '/usr/aarch64-linux-gnu']

/**
 * Asks an executable for its version, in an emulator if it is for another machine. The target of this machine must run.
 * @returns the reason for which the executable could not be started; undefined if it ran
 * @throws Error if the executable ran and failed
 */
export async function tryOut(
  executable: string,
  { name }: Target,
  expected: { version: string; commit: string },
): Promise<string | undefined> {
  if (platform() !== 'linux') return 'this is no Linux'
  const emulator = name === `linux-${arch()}` ? [] : name === 'linux-arm64' ? ARM64 : undefined
  if (!emulator) return `this machine is ${arch()}`
  if (emulator[0] && !Bun.which(emulator[0])) return `there is no ${emulator[0]}`
  const command = [...emulator, executable, 'version', '--json']
  const run = Bun.spawn(command, { cwd: tmpdir(), env: {}, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
  const [stdout, stderr] = await Promise.all([run.stdout.text(), run.stderr.text()])
  // 255: the emulator has not found the libraries.
  if ((await run.exited) === 255 && emulator.length > 0) return stderr.split('\n', 1)[0]
  const said = stdout.startsWith('{') ? JSON.parse(stdout) : {}
  if (said.version !== expected.version || (said.commit ?? '') !== expected.commit)
    throw new Error(`${name} does not know its version: ${stdout}${stderr}`)
  return undefined
}
