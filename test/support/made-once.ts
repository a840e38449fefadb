import { chmodSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startKept } from '../../src/database/private-server/keeper.ts'
import { until } from './until.ts'

let folder: Promise<string> | undefined

/**
 * Makes a file or folder that takes seconds to make and is then only copied or run. All test processes of a run share
 * the result: the first process calls `make` with the path, and the others wait. The result is in TEST_RUN_FOLDER,
 * which its owner removes, or in a folder that is removed when this process ends or is killed.
 */
export async function madeOnce(name: string, make: (path: string) => Promise<unknown>): Promise<string> {
  folder ??= process.env.TEST_RUN_FOLDER
    ? Promise.resolve(process.env.TEST_RUN_FOLDER)
    : folderOfThisProcess()
  const path = join(await folder, name)
  const lock = `${path}.lock`
  // A process whose `make` failed has released the lock. So the next process tries, and throws the reason.
  let isMaker = false
  await until(
    `another test process makes ${name}`,
    () => {
      if (existsSync(path)) return true
      isMaker = take(lock)
      return isMaker
    },
    120_000,
  )
  if (!isMaker) return path
  try {
    // Another process finished between the check for the result and the lock.
    if (existsSync(path)) return path
    const draft = `${path}.draft`
    rmSync(draft, { recursive: true, force: true })
    await make(draft)
    renameSync(draft, path)
    return path
  } finally {
    rmSync(lock, { recursive: true, force: true })
  }
}

/** Takes the lock by making a folder: mkdir succeeds for one process only. */
function take(lock: string): boolean {
  try {
    mkdirSync(lock)
    return true
  } catch {
    return false
  }
}

async function folderOfThisProcess(): Promise<string> {
  const made = mkdtempSync(join(tmpdir(), 'axport-test-run-'))
  // Servers that run as another user copy their files from there.
  chmodSync(made, 0o711)
  // The command ends at once; its keeper waits for this process to end, and removes the folder.
  await startKept(['true'], { folder: made, env: {}, log: join(made, 'log'), user: undefined })
  return made
}
