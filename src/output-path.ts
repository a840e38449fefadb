import fs from 'node:fs'
import { dirname, join } from 'node:path'
import { Failure, UsageFailure } from './errors.ts'

/** Whether the path is a device or a pipe, which is written to directly. False if its status cannot be read. */
export function isDevice(path: string): boolean {
  try {
    const stat = fs.statSync(path)
    return !stat.isFile() && !stat.isDirectory()
  } catch {
    return false
  }
}

/** The name that an unfinished file has where it needs one. */
export const draftOf = (output: string): string => `${output}.draft`

/**
 * The file that an option names for output, behind its links, so that they stay.
 * @param inputs the files that the command reads; a folder stands for the files in it
 * @throws UsageFailure for "-" and for an input; Failure if the file cannot be written
 */
export function outputPath(path: string, inputs: string[]): string {
  if (path === '-') throw new UsageFailure('- is no file here: name the file to write')
  try {
    const stat = fs.statSync(path, { throwIfNoEntry: false })
    if (stat?.isDirectory()) throw new Failure(`cannot write ${path}: it is a folder`)
    if (stat?.isFile() === false) throw new Failure(`cannot write ${path}: it is not a file`)
    if (!stat && fs.lstatSync(path, { throwIfNoEntry: false }))
      throw new Failure(`cannot write ${path}: it is a link that leads nowhere`)
    // A rename would also replace a read-only file.
    if (stat) fs.accessSync(path, fs.constants.W_OK)
    const output = stat ? fs.realpathSync(path) : path
    // Rejects that could not be put in their place stay in a draft, which may be corrected and imported.
    const replaced = [output, draftOf(output)].flatMap(filesOf)
    if (inputs.flatMap(filesOf).some(file => replaced.includes(file)))
      throw new UsageFailure(
        `the command reads ${path}, and would replace it: name another file for the output`,
      )
    fs.accessSync(dirname(output), fs.constants.W_OK)
    return output
  } catch (error) {
    throw writeFailure(error, path)
  }
}

/** An input, or the files of a folder, behind their links; none for what cannot be read. */
function filesOf(input: string): string[] {
  try {
    const paths = fs.statSync(input).isDirectory()
      ? fs.readdirSync(input).map(name => join(input, name))
      : [input]
    return paths.filter(path => fs.existsSync(path)).map(path => fs.realpathSync(path))
  } catch {
    return []
  }
}

const REASONS: Record<string, string> = {
  ENOSPC: 'no space is left',
  EDQUOT: 'the quota is used up',
  EACCES: 'it is not permitted',
  EPERM: 'it is not permitted',
  EROFS: 'the file system is read-only',
  ENOENT: 'there is no such folder',
  ENOTDIR: 'there is no such folder',
  EISDIR: 'it is a folder',
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
