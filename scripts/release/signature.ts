import { createHash } from 'node:crypto'
import { isMachO, loadCommands } from './header.ts'

// Numbers of a signature are big-endian, as in Apple's cs_blobs.h.
const LC_CODE_SIGNATURE = 0x1d
const EMBEDDED_SIGNATURE = 0xfade0cc0
const CODE_DIRECTORY = 0xfade0c02
const SHA256 = 2
const LC_SEGMENT_64 = 0x19

// Sizes in bytes: a page, a digest, the signature before its directory, and the directory before its strings.
const PAGE = 4096
const HASH = 32
const BLOB = 20
const DIRECTORY = 88
const IDENTIFIER = 'axport\0'

/** An ad-hoc signature (CS_ADHOC), as linkers make it (CS_LINKER_SIGNED). */
const AD_HOC = 0x20002

/**
 * Checks whether the code signature of a Mach-O file covers the contents of the file. macOS kills a program if a page
 * differs from its signed digest. The signer is not checked.
 * @returns the fault; undefined if the signature is valid
 */
export function signatureFault(executable: Buffer): string | undefined {
  const start = placeOfSignature(executable)
  if (start === undefined) return 'the file has no code signature'
  const directory = codeDirectory(executable, start)
  if (directory === undefined) return 'the code signature has no directory'
  if (executable[directory + 37] !== SHA256) return 'the code signature does not use SHA-256'
  if (executable.readUInt32BE(directory + 32) !== start)
    return 'the code signature does not cover the whole file'
  for (const { page, digest, at } of pagesOf(executable, directory))
    if (!digest.equals(executable.subarray(at, at + digest.length)))
      return `page ${page} differs from its signed digest`
  return undefined
}

/**
 * Replaces an invalid signature of a Mach-O file by an ad-hoc one. Bun 1.4.4 puts the bundle into its runtime for Intel
 * and leaves the runtime's signature, which then does not cover the file.
 * @returns the file with the new signature; undefined if the signature is valid, and for other files
 */
export function signedAnew(executable: Buffer): Buffer | undefined {
  if (!isMachO(executable) || signatureFault(executable) === undefined) return undefined
  const start = placeOfSignature(executable)
  if (start === undefined) return undefined
  const pages = Math.ceil(start / PAGE)
  const size = BLOB + DIRECTORY + IDENTIFIER.length + pages * HASH
  const signed = Buffer.concat([executable.subarray(0, start), Buffer.alloc(Math.ceil(size / 16) * 16)])
  resizeSignature(signed, signed.length - start)
  for (const [at, value] of [EMBEDDED_SIGNATURE, size, 1, 0, BLOB].entries())
    signed.writeUInt32BE(value, start + at * 4)
  const directory = start + BLOB
  const hashes = DIRECTORY + IDENTIFIER.length
  const fields = [CODE_DIRECTORY, size - BLOB, 0x20400, AD_HOC, hashes, DIRECTORY, 0, pages, start]
  for (const [at, value] of fields.entries()) signed.writeUInt32BE(value, directory + at * 4)
  signed.set([HASH, SHA256, 0, Math.log2(PAGE)], directory + 36)
  // The directory contains the size of the code segment of a main program.
  signed.writeBigUInt64BE(segment(signed, '__TEXT')?.fileSize ?? 0n, directory + 72)
  signed.writeBigUInt64BE(1n, directory + 80)
  signed.write(IDENTIFIER, directory + DIRECTORY)
  for (const { digest, at } of pagesOf(signed, directory)) digest.copy(signed, at)
  return signed
}

/** Writes the size of the signature into the headers. The signature is the end of the last segment. */
function resizeSignature(executable: Buffer, size: number): void {
  const command = loadCommands(executable).find(({ kind }) => kind === LC_CODE_SIGNATURE)
  if (command) executable.writeUInt32LE(size, command.at + 12)
  const last = segment(executable, '__LINKEDIT')
  if (!last) return
  const fileSize = BigInt(executable.length) - last.fileOffset
  executable.writeBigUInt64LE(fileSize, last.at + 48)
  executable.writeBigUInt64LE(((fileSize + 0x3fffn) / 0x4000n) * 0x4000n, last.at + 32)
}

function segment(executable: Buffer, name: string) {
  const found = loadCommands(executable).find(
    ({ kind, at }) =>
      kind === LC_SEGMENT_64 && executable.toString('latin1', at + 8, at + 24).startsWith(name),
  )
  if (!found) return undefined
  const { at } = found
  return {
    at,
    fileOffset: executable.readBigUInt64LE(at + 40),
    fileSize: executable.readBigUInt64LE(at + 48),
  }
}

function placeOfSignature(executable: Buffer): number | undefined {
  const command = loadCommands(executable).find(({ kind }) => kind === LC_CODE_SIGNATURE)
  return command && executable.readUInt32LE(command.at + 8)
}

/** The offset of the code directory, which contains the digests. */
function codeDirectory(executable: Buffer, start: number): number | undefined {
  if (executable.readUInt32BE(start) !== EMBEDDED_SIGNATURE) return undefined
  for (let blob = executable.readUInt32BE(start + 8) - 1; blob >= 0; blob--) {
    const at = start + executable.readUInt32BE(start + 12 + blob * 8 + 4)
    if (executable.readUInt32BE(at) === CODE_DIRECTORY) return at
  }
  return undefined
}

/** The pages of a file, with their digests and the offsets of their signed digests in the directory. */
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
