import { chownSync, mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Requirement } from '../../support/requires.ts'
import { isAlive } from '../../support/stop-processes.ts'

/** A small file system in memory, which a test can fill. */
export interface SmallDisk {
  folder: string
  /** Fills the free space up to `leaving` bytes. */
  fill(leaving?: number): void
  /** Frees the space that fill() has taken. */
  free(): void
  unmount(): void
}

const PREFIX = 'axport-disk-'

/** The right to mount, which root has outside of most containers. No package can install it. */
export function rightToMount(): Requirement {
  return { name: 'the right to mount a tmpfs', isHere: mayMount() }
}

/** Mounts a tmpfs of this size, which belongs to `owner` (default: this user). */
export function mountSmallDisk(mebibytes: number, owner?: { uid: number; gid: number }): SmallDisk {
  removeLeftovers()
  const folder = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`))
  run('mount', '-t', 'tmpfs', '-o', `size=${mebibytes}m,mode=0700`, 'axport-small-disk', folder)
  if (owner) chownSync(folder, owner.uid, owner.gid)
  const ballast = join(folder, 'ballast')
  return {
    folder,
    fill: (leaving = 0) => {
      const { bavail, bsize } = statfsSync(folder)
      writeFileSync(ballast, new Uint8Array(bavail * bsize - leaving), { flag: 'a' })
    },
    free: () => rmSync(ballast, { force: true }),
    unmount: () => unmount(folder),
  }
}

function mayMount(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false
  try {
    mountSmallDisk(1).unmount()
    return true
  } catch {
    return false
  }
}

/** Unmounts the file systems of killed test processes, which would occupy memory until a reboot. */
function removeLeftovers(): void {
  for (const name of readdirSync(tmpdir())) {
    const pid = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1]
    if (pid && !isAlive(Number(pid))) unmount(join(tmpdir(), name))
  }
}

function unmount(folder: string): void {
  // Lazy: a process that is about to end may still have a file open. umount fails for a folder that is no mount.
  Bun.spawnSync(['umount', '--lazy', folder], { stdout: 'ignore', stderr: 'ignore' })
  rmSync(folder, { recursive: true, force: true })
}

function run(...command: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(command, { stdout: 'ignore', stderr: 'pipe' })
  if (exitCode !== 0) throw new Error(`${command.join(' ')}: ${stderr.toString().trim()}`)
}
