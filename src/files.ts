import fs from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { Failure } from './errors.ts'

/** Writes bytes after those of the last call. */
export type WriteBytes = (bytes: Uint8Array) => void | Promise<void>

/** The mode of files with personal data: only their owner can read them. */
export const PRIVATE = 0o600

/** The text of a file. @throws Failure if it cannot be read, with a `subject` as "TLS_KEY_FILE names key.pem, which" */
export function readNamed(file: string, subject: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch (error) {
    throw new Failure(`${subject} cannot be read (${(error as { code?: string }).code})`)
  }
}

/** The same without white space around it. @throws Failure also if there is no other text */
export function readTrimmed(file: string, subject: string): string {
  const text = readNamed(file, subject).trim()
  if (text === '') throw new Failure(`${subject} is empty`)
  return text
}

/** Whether the path is a device or a pipe, which is written to directly. False if its status cannot be read. */
export function isDevice(path: string): boolean {
  try {
    const stat = fs.statSync(path)
    return !stat.isFile() && !stat.isDirectory()
  } catch {
    return false
  }
}

/** The path, or the target of a link, so that the link stays. @throws Failure if the file cannot be written */
export function outputPath(path: string): string {
  try {
    const stat = fs.statSync(path, { throwIfNoEntry: false })
    if (stat?.isDirectory()) throw new Failure(`cannot write ${path}: it is a folder`)
    // A rename would also replace a read-only file.
    if (stat) fs.accessSync(path, fs.constants.W_OK)
    const output = stat ? fs.realpathSync(path) : path
    fs.accessSync(dirname(output), fs.constants.W_OK)
    return output
  } catch (error) {
    throw writeFailure(error, path)
  }
}

/** Writes all bytes. A single write may be partial on a disk that is nearly full. */
function writeFully(descriptor: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) done += fs.writeSync(descriptor, bytes, done)
}

/** A file that is being written, beside the file that it replaces when it is complete. Only its owner can read it. */
export class Draft {
  readonly descriptor: number
  isOpen = true

  /** A draft whose name is always the same: a killed process leaves one file at most. @throws Failure */
  static of(output: string): Draft {
    try {
      return new Draft(output, `${output}.draft`)
    } catch (error) {
      throw writeFailure(error, output)
    }
  }

  /** @throws the error of the system */
  constructor(
    output: string,
    readonly path = `${output}.${process.pid}.tmp`,
  ) {
    // In a container a killed process may have had the same number.
    fs.rmSync(this.path, { force: true })
    this.descriptor = fs.openSync(this.path, 'wx', PRIVATE)
  }

  /** Writes all bytes; none once closed: the descriptor may be that of another file. @throws the error of the system */
  write(bytes: Uint8Array): void {
    if (this.isOpen) writeFully(this.descriptor, bytes)
  }

  close(): void {
    this.isOpen = false
    fs.closeSync(this.descriptor)
  }

  /** Deletes the draft; does nothing after it was closed. */
  discard(): void {
    if (!this.isOpen) return
    const { isReplaced } = this
    this.close()
    if (!isReplaced) fs.rmSync(this.path, { force: true })
  }

  [Symbol.dispose](): void {
    this.discard()
  }

  /** Whether another process has made a draft of the same name. */
  get isReplaced(): boolean {
    return fs.statSync(this.path, { throwIfNoEntry: false })?.ino !== fs.fstatSync(this.descriptor).ino
  }
}

const flush = promisify(fs.fsync)

/** Makes a complete draft the output, with the mode of the file that it replaces. @throws the error of the system */
export async function publish(draft: Draft, output: string): Promise<void> {
  if (draft.isReplaced) throw new Failure(`another process is writing ${output}: it was not replaced`)
  const replaced = fs.statSync(output, { throwIfNoEntry: false })
  if (replaced) fs.chmodSync(draft.path, replaced.mode & 0o777)
  await flush(draft.descriptor)
  fs.renameSync(draft.path, output)
  // The new name survives a crash of the machine; some systems cannot flush a folder.
  try {
    const folder = fs.openSync(dirname(output), 'r')
    try {
      fs.fsyncSync(folder)
    } finally {
      fs.closeSync(folder)
    }
  } catch {}
  draft.close()
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
  EPIPE: 'its reader has closed it',
  EBADF: 'it is closed',
}

/** Why something cannot be written, by the code of the system. */
export const whyUnwritable = (code: string): string => REASONS[code] ?? code

/** The failure that explains an error of writing to the operator; an error without a code stays as it is. */
export function writeFailure(error: unknown, path: string): Error {
  if (error instanceof Failure) return error
  const { code, message } = error as { code?: string; message: string }
  if (code === undefined) return error as Error
  return new Failure(`cannot write ${path}: ${REASONS[code] ?? message}`)
}
