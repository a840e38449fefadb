import { chownSync, mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isAlive } from '../../support/cluster-folder.ts'
import type { Requirement } from '../../support/requires.ts'

/** A file system of its own in memory, which can be full. */
export interface SmallDisk {
  folder: string
  /** Takes all space that is left but for `leaving` bytes. */
  fill(leaving?: number): void
  /** Gives back what fill() took. */
  free(): void
  unmount(): void
}

const PREFIX = 'axport-disk-'

/** The right to mount, which root has outside of most containers. No package brings it. */
export function rightToMount(): Requirement {
  return { name: 'the right to mount a tmpfs', isHere: mayMount() }
}

/** Mounts a tmpfs of that many MiB, which belongs to `owner` (default: this user). */
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

/** Those of test processes that were killed: they would hold their memory until the machine is switched off. */
function removeLeftovers(): void {
  for (const name of readdirSync(tmpdir())) {
    const pid = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1]
    if (pid && !isAlive(Number(pid))) unmount(join(tmpdir(), name))
  }
}

function unmount(folder: string): void {
  // Lazily: a process that is about to end may have a file open in it. A folder that is no mount is only removed.
  Bun.spawnSync(['umount', '--lazy', folder], { stdout: 'ignore', stderr: 'ignore' })
  rmSync(folder, { recursive: true, force: true })
}

function run(...command: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(command, { stdout: 'ignore', stderr: 'pipe' })
  if (exitCode !== 0) throw new Error(`${command.join(' ')}: ${stderr.toString().trim()}`)
}
