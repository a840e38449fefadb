import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  fsync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { Failure, TransientFailure } from './errors.ts'

/** Takes bytes, one after the other. */
export type Write = (bytes: Uint8Array) => void | Promise<void>

/** For its owner alone: the records are personal data. */
export const PRIVATE = 0o600

/** Whether the path is a device or a pipe, which is written to as it is. What nobody may look at is none. */
export function isDevice(path: string): boolean {
  try {
    const stat = statSync(path)
    return !stat.isFile() && !stat.isDirectory()
  } catch {
    return false
  }
}

/**
 * The file itself where the path is a link to one, so that the link stays.
 * @throws Failure when there can be no such file
 */
export function outputPath(path: string): string {
  try {
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat?.isDirectory()) throw new Failure(`cannot write ${path}: it is a folder`)
    // A rename would replace a file that nobody may write.
    if (stat) accessSync(path, constants.W_OK)
    const output = stat ? realpathSync(path) : path
    accessSync(dirname(output), constants.W_OK)
    return output
  } catch (error) {
    throw writeFailure(error, path)
  }
}

/** Writes all of it: the system may take a part only, when a disk is nearly full. */
export function writeFully(descriptor: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(descriptor, bytes, done)
}

/** What becomes a file when it is whole; until then it stands beside that, for its owner alone. */
export class Draft {
  readonly descriptor: number
  isOpen = true

  /** @throws the error of the system */
  constructor(
    output: string,
    readonly path = `${output}.${process.pid}.tmp`,
  ) {
    // In a container a process that was killed had the same number.
    rmSync(this.path, { force: true })
    this.descriptor = openSync(this.path, 'wx', PRIVATE)
  }

  /**
   * Writes all of it, or nothing once it is closed: its descriptor may be another file's by then.
   * @throws the error of the system
   */
  write(bytes: Uint8Array): void {
    if (this.isOpen) writeFully(this.descriptor, bytes)
  }

  close(): void {
    this.isOpen = false
    closeSync(this.descriptor)
  }

  /** Leaves nothing behind; nothing happens once it is closed. */
  discard(): void {
    if (!this.isOpen) return
    this.close()
    rmSync(this.path, { force: true })
  }
}

const flush = promisify(fsync)

/**
 * Gives a finished draft the name of the output, which is never seen half-written, and the mode of what was there.
 * @param descriptor of the draft, which stays open
 */
export async function publish(descriptor: number, draft: string, output: string): Promise<void> {
  const replaced = statSync(output, { throwIfNoEntry: false })
  if (replaced) chmodSync(draft, replaced.mode & 0o777)
  await putInPlace(descriptor, draft, output)
}

/** The same with the mode that the draft has. */
export async function putInPlace(descriptor: number, draft: string, output: string): Promise<void> {
  await flush(descriptor)
  renameSync(draft, output)
  flushFolder(dirname(output))
}

/** So that the new name survives a crash of the machine; not every system can do it. */
function flushFolder(folder: string): void {
  try {
    const descriptor = openSync(folder, 'r')
    fsyncSync(descriptor)
    closeSync(descriptor)
  } catch {}
}

const REASONS: Record<string, string> = {
  ENOSPC: 'no space is left',
  EDQUOT: 'the quota is used up',
  EACCES: 'it is not permitted',
  EPERM: 'it is not permitted',
  EROFS: 'the file system is read-only',
  ENOENT: 'there is no such folder',
  ENOTDIR: 'there is no such folder',
  EFBIG: 'the file would be larger than is permitted',
  SQLITE_FULL: 'no space is left',
  SQLITE_CANTOPEN: 'it is of another user, or its folder cannot be written',
}

/** What ends when there is room again. */
const FULL = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'SQLITE_FULL'])

/** What a failed write means for whoever runs the command; an error of another kind is left as it is. */
export function writeFailure(error: unknown, path: string): Error {
  if (error instanceof Failure) return error
  const { code, message } = error as { code?: string; message: string }
  if (code === undefined) return error as Error
  const text = `cannot write ${path}: ${REASONS[code] ?? message}`
  return FULL.has(code) ? new TransientFailure(text) : new Failure(text)
}
