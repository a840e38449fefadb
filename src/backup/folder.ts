import fs from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../errors.ts'
import { writeFailure } from '../files.ts'

/** The names of backups in a folder, which begin with their time (UTC). Other files of the folder are left alone. */
const NAME = /^axport-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\.backup$/

/** The path of a new backup in a folder, which is created for its owner alone if it is missing. @throws Failure */
export function newBackupIn(folder: string, now = new Date()): string {
  try {
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw writeFailure(error, folder)
  }
  const time = now.toISOString().slice(0, 19).replaceAll(':', '-')
  return join(folder, `axport-${time}Z.backup`)
}

/** Deletes all backups of a folder but the newest ones. @returns the names of the deleted ones */
export function keepNewest(folder: string, count: number): string[] {
  const old = namesIn(folder).slice(0, -count)
  for (const name of old) fs.rmSync(join(folder, name))
  return old
}

/** The newest backup of a folder; any other path as it is. @throws Failure for a folder without a backup */
export function newestBackup(path: string): string {
  if (!fs.statSync(path, { throwIfNoEntry: false })?.isDirectory()) return path
  const newest = namesIn(path).at(-1)
  if (newest === undefined)
    throw new Failure(`${path} has no backup: axport backup --keep N ${path} makes one`)
  return join(path, newest)
}

/** Oldest first. */
const namesIn = (folder: string) =>
  fs
    .readdirSync(folder)
    .filter(name => NAME.test(name))
    .sort()
