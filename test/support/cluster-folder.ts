import { chown, mkdtemp, readdir, realpath, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const prefix = 'axport-cluster-'
const hour = 3_600_000

/** Makes a folder for one cluster's files; its name carries the id of the process that it belongs to. */
export async function makeClusterFolder(owner?: { uid: number; gid: number }): Promise<string> {
  const temporary = await realpath(tmpdir())
  await removeLeftovers(temporary)
  const folder = await mkdtemp(join(temporary, `${prefix}${process.pid}-`))
  if (owner) await chown(folder, owner.uid, owner.gid)
  return folder
}

/** Folders of runs that ended together with their supervisor, as when the machine was switched off. */
async function removeLeftovers(temporary: string): Promise<void> {
  for (const name of await readdir(temporary)) {
    const pid = new RegExp(`^${prefix}(\\d+)-`).exec(name)?.[1]
    if (!pid || isAlive(Number(pid))) continue
    const path = join(temporary, name)
    const found = await stat(path).catch(() => null)
    // A container that shares the temporary folder has process ids of its own: an hour's grace.
    if (found && Date.now() - found.mtimeMs > hour) await rm(path, { recursive: true, force: true })
  }
}

/** Whether a process with this id runs, of whatever user. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
