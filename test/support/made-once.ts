import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startSupervised } from './supervised.ts'
import { until } from './until.ts'

let folder: Promise<string> | undefined

/**
 * What takes seconds to make and is then only copied or run: the path `name` in a folder that all test processes of
 * a run share. The first process that asks makes it, by `make` at the path that it is given; the others wait. The
 * folder is TEST_RUN_FOLDER, whose owner removes it, or one that goes with this process however that ends.
 */
export async function madeOnce(name: string, make: (path: string) => Promise<unknown>): Promise<string> {
  folder ??= process.env.TEST_RUN_FOLDER
    ? Promise.resolve(process.env.TEST_RUN_FOLDER)
    : folderOfThisProcess()
  const path = join(await folder, name)
  const lock = `${path}.lock`
  // A maker that failed has let go of the lock: the next one tries, and fails with the reason.
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
    // Made between the two looks above.
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

/** The file system makes a folder for one caller only. */
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
  const env = { PATH: process.env.PATH ?? '/usr/bin:/bin' }
  // No server is needed: its supervisor removes the folder.
  await startSupervised(['true'], { folder: made, env, logFile: join(made, 'log') })
  return made
}
