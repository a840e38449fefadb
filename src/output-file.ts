import { dlopen } from 'bun:ffi'
import fs from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { Failure } from './errors.ts'
import { draftOf, writeFailure } from './output-path.ts'

/** Writes bytes after those of the last call. */
export type WriteBytes = (bytes: Uint8Array) => void | Promise<void>

/** The mode of files with personal data: only their owner can read them. */
const PRIVATE = 0o600

/**
 * A file that is being written, and replaces the output when it is complete. It has no name before that, so a process that
 * is killed leaves nothing. A file system that gives every file a name, as NFS does, has it as OUTPUT.draft, which
 * the next process replaces.
 */
export class OutputFile {
  readonly #draft: string
  readonly #descriptor: number
  readonly #replaced: fs.Stats | undefined
  #hasName = false
  #isOpen = true

  /** @param output a path of outputPath() @throws Failure */
  constructor(private readonly output: string) {
    this.#draft = draftOf(output)
    this.#replaced = statOf(output)
    try {
      this.#descriptor = this.#create()
    } catch (error) {
      throw writeFailure(error, output)
    }
  }

  #create(): number {
    try {
      if (fs.existsSync(DESCRIPTORS)) return fs.openSync(dirname(this.output), NAMELESS, PRIVATE)
    } catch (error) {
      // Of a file system that has no nameless files.
      if (!['EOPNOTSUPP', 'ENOTSUP', 'EISDIR'].includes(String((error as { code?: string }).code)))
        throw error
    }
    fs.rmSync(this.#draft, { force: true })
    this.#hasName = true
    return fs.openSync(this.#draft, 'wx', PRIVATE)
  }

  /** The bytes that were written so far. */
  get size(): number {
    return fs.fstatSync(this.#descriptor).size
  }

  /** Writes all bytes; none once closed: the descriptor may be that of another file. @throws Failure */
  write(bytes: Uint8Array): void {
    if (!this.#isOpen) return
    try {
      // A single write may be partial on a disk that is nearly full.
      for (let done = 0; done < bytes.length; ) done += fs.writeSync(this.#descriptor, bytes, done)
    } catch (error) {
      throw writeFailure(error, this.output)
    }
  }

  /** Makes the complete file the output, with the mode of the file that it replaces. @throws Failure */
  async publish(): Promise<void> {
    try {
      await flush(this.#descriptor)
      // A signal may have ended the command meanwhile.
      if (!this.#isOpen) throw new Failure(`cannot write ${this.output}: it was given up`)
      if (!this.#hasName) this.#giveName()
      const replaced = statOf(this.output)
      const isWritten = replaced?.isFile() && !isSame(replaced, this.#replaced)
      if (isWritten || !this.#isMine())
        throw new Failure(`another process is writing ${this.output}: it was not replaced`)
      giveAway(this.#descriptor, replaced ?? fs.statSync(dirname(this.output)))
      if (replaced?.isFile()) fs.fchmodSync(this.#descriptor, replaced.mode & 0o777)
      fs.renameSync(this.#draft, this.output)
    } catch (error) {
      throw writeFailure(error, this.output)
    }
    flushFolder(dirname(this.output))
    this.#close()
  }

  /** Node has no call that gives a nameless file a name. */
  #giveName(): void {
    fs.rmSync(this.#draft, { force: true })
    const { linkat } = dlopen('libc.so.6', LINKAT).symbols
    const from = Buffer.from(`${DESCRIPTORS}/${this.#descriptor}\0`)
    const to = Buffer.from(`${this.#draft}\0`)
    if (linkat(AT_FDCWD, from, AT_FDCWD, to, AT_SYMLINK_FOLLOW) !== 0)
      throw new Failure(`cannot write ${this.output}: its folder takes no further file`)
    this.#hasName = true
  }

  /** Whether the name of the draft is that of this file: another process may have made one of the same name. */
  #isMine = () => isSame(statOf(this.#draft), fs.fstatSync(this.#descriptor))

  /** Leaves the file beside the output if that was not replaced. @returns its path; undefined if it has no name */
  leave(): string | undefined {
    const path = this.#hasName && this.#isMine() ? this.#draft : undefined
    this.#close()
    return path
  }

  /** Deletes the file; does nothing after it was published or left. */
  discard(): void {
    if (!this.#isOpen) return
    const isLeft = this.#hasName && this.#isMine()
    this.#close()
    if (isLeft) fs.rmSync(this.#draft, { force: true })
  }

  [Symbol.dispose](): void {
    this.discard()
  }

  #close(): void {
    this.#isOpen = false
    fs.closeSync(this.#descriptor)
  }
}

const statOf = (path: string) => fs.statSync(path, { throwIfNoEntry: false })

const isSame = (one: fs.Stats | undefined, other: fs.Stats | undefined) =>
  one?.ino === other?.ino && one?.dev === other?.dev

/**
 * Lets a file of root belong to whoever has the one that it replaces, or else the folder: the user of a unit goes on with
 * the file that an operator has written once. Where root may not do that, the file stays its own.
 */
function giveAway(descriptor: number, { uid, gid }: fs.Stats): void {
  if (process.getuid?.() !== 0) return
  try {
    fs.fchownSync(descriptor, uid, gid)
  } catch {}
}

/** O_TMPFILE of Linux: creates a file without a name, in a folder. */
const NAMELESS = 0o20000000 | fs.constants.O_DIRECTORY | fs.constants.O_RDWR

/** The folder in which the kernel shows the open files of this process. */
const DESCRIPTORS = '/proc/self/fd'

/** linkat(2). */
const LINKAT = { linkat: { args: ['i32', 'ptr', 'i32', 'ptr', 'i32'], returns: 'i32' } } as const
const AT_FDCWD = -100
const AT_SYMLINK_FOLLOW = 0x400

const flush = promisify(fs.fsync)

/** Lets a new name survive a crash of the machine. Some systems cannot flush a folder. */
function flushFolder(path: string): void {
  try {
    const folder = fs.openSync(path, 'r')
    try {
      fs.fsyncSync(folder)
    } finally {
      fs.closeSync(folder)
    }
  } catch {}
}
