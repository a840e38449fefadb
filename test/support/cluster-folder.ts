import { chown, mkdtemp, readdir, realpath, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const prefix = 'axport-cluster-'
const hour = 3_600_000

/** Makes a folder for one cluster's files. The folder's name contains the id of this process. */
export async function makeClusterFolder(owner?: { uid: number; gid: number }): Promise<string> {
  const temporary = await realpath(tmpdir())
  await removeLeftovers(temporary)
  const folder = await mkdtemp(join(temporary, `${prefix}${process.pid}-`))
  if (owner) await chown(folder, owner.uid, owner.gid)
  return folder
}

/** Removes the folders of earlier runs whose supervisor ended before it could remove them, as at a power loss. */
async function removeLeftovers(temporary: string): Promise<void> {
  for (const name of await readdir(temporary)) {
    const pid = new RegExp(`^${prefix}(\\d+)-`).exec(name)?.[1]
    if (!pid || isAlive(Number(pid))) continue
    const path = join(temporary, name)
    const found = await stat(path).catch(() => null)
    // A container that shares the temporary folder has other process ids. So only folders older than an hour go.
    if (found && Date.now() - found.mtimeMs > hour) await rm(path, { recursive: true, force: true })
  }
}

/** Whether a process with this id runs, under any user. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
