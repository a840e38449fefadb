import { createHash } from 'node:crypto'
import { isMachO, loadCommands } from './header.ts'

// Numbers of a signature are big-endian, as in Apple's cs_blobs.h.
const LC_CODE_SIGNATURE = 0x1d
const EMBEDDED_SIGNATURE = 0xfade0cc0
const CODE_DIRECTORY = 0xfade0c02
const SHA256 = 2

/** Signed by nobody (CS_ADHOC), as linkers do it (CS_LINKER_SIGNED). */
const AD_HOC = 0x20002

/**
 * Whether the code signature of a Mach-O file covers what the file holds: macOS ends a program at its start where a
 * page differs from its signed digest. Who signed it is not looked at.
 * @returns what is wrong with it; undefined where nothing is
 */
export function signatureFault(executable: Buffer): string | undefined {
  const start = placeOfSignature(executable)
  if (start === undefined) return 'it has no code signature'
  const directory = codeDirectory(executable, start)
  if (directory === undefined) return 'its code signature has no directory'
  if (executable[directory + 37] !== SHA256) return 'its code signature is not of SHA-256'
  if (executable.readUInt32BE(directory + 32) !== start)
    return 'its code signature does not cover the whole file'
  for (const { page, digest, at } of pagesOf(executable, directory))
    if (!digest.equals(executable.subarray(at, at + digest.length)))
      return `page ${page} is not as it was signed`
  return undefined
}

/**
 * Signs a Mach-O file anew in place, by nobody, where its signature does not cover what it holds: Bun 1.4.4 puts the
 * bundle into its runtime for Intel, and leaves the runtime's signature as it was. Other signatures stay.
 * @returns whether it changed anything
 */
export function mendSignature(executable: Buffer): boolean {
  if (!isMachO(executable) || signatureFault(executable) === undefined) return false
  const start = placeOfSignature(executable)
  const directory = start === undefined ? undefined : codeDirectory(executable, start)
  if (start === undefined || directory === undefined) return false
  // The directory alone remains: what else was signed, and by whom, belonged to the runtime.
  const end = directory + executable.readUInt32BE(directory + 4)
  executable.fill(0, end, executable.length)
  executable.writeUInt32BE(end - start, start + 4)
  executable.writeUInt32BE(1, start + 8)
  executable.writeUInt32BE(0, start + 12)
  executable.writeUInt32BE(directory - start, start + 16)
  executable.writeUInt32BE(AD_HOC, directory + 12)
  // No digests of other things than pages, and no team.
  executable.writeUInt32BE(0, directory + 24)
  executable.writeUInt32BE(0, directory + 48)
  for (const { digest, at } of pagesOf(executable, directory)) digest.copy(executable, at)
  return true
}

function placeOfSignature(executable: Buffer): number | undefined {
  const command = loadCommands(executable).find(({ kind }) => kind === LC_CODE_SIGNATURE)
  return command && executable.readUInt32LE(command.at + 8)
}

/** Where the directory of the digests begins. */
function codeDirectory(executable: Buffer, start: number): number | undefined {
  if (executable.readUInt32BE(start) !== EMBEDDED_SIGNATURE) return undefined
  for (let blob = executable.readUInt32BE(start + 8) - 1; blob >= 0; blob--) {
    const at = start + executable.readUInt32BE(start + 12 + blob * 8 + 4)
    if (executable.readUInt32BE(at) === CODE_DIRECTORY) return at
  }
  return undefined
}

/** The pages of a file, their digests, and where the directory has the signed digest of each. */
function* pagesOf(executable: Buffer, directory: number) {
  const field = (offset: number) => executable.readUInt32BE(directory + offset)
  const [hashes, pages, signed] = [field(16), field(28), field(32)]
  const [hashSize = 0, pageShift = 0] = [36, 39].map(offset => executable[directory + offset])
  for (let page = 0; page < pages; page++) {
    const bytes = executable.subarray(page << pageShift, Math.min((page + 1) << pageShift, signed))
    const digest = createHash('sha256').update(bytes).digest()
    yield { page, digest, at: directory + hashes + page * hashSize }
  }
}
