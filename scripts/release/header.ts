import type { Header } from './targets.ts'

const ELF_MACHINES: Record<number, Header['machine']> = { 62: 'x64', 183: 'arm64' }
const CPU_TYPES: Record<number, Header['machine']> = { 16777223: 'x64', 16777228: 'arm64' }

/**
 * Reads the machine from the header of a 64-bit executable: ELF as in elf(5), Mach-O as in <mach-o/loader.h>.
 * @throws Error if the file is neither, or for an unknown machine
 */
export function readHeader(executable: Buffer): Header {
  if (executable.toString('hex', 0, 6) === '7f454c460201') return readElf(executable)
  if (isMachO(executable)) return readMachO(executable)
  throw new Error('the file is no 64-bit executable of Linux or macOS')
}

export const isMachO = (executable: Buffer) => executable.toString('hex', 0, 4) === 'cffaedfe'

const PT_INTERP = 3

function readElf(executable: Buffer): Header {
  const segments = Number(executable.readBigUInt64LE(32))
  const [size, count] = [executable.readUInt16LE(54), executable.readUInt16LE(56)]
  for (let at = segments; at < segments + size * count; at += size) {
    if (executable.readUInt32LE(at) !== PT_INTERP) continue
    const [start = 0, length = 0] = [8, 32].map(field => Number(executable.readBigUInt64LE(at + field)))
    return {
      format: 'ELF',
      machine: known(ELF_MACHINES, executable.readUInt16LE(18)),
      interpreter: textAt(executable, start, start + length),
    }
  }
  throw new Error('the ELF file names no interpreter')
}

const LC_LOAD_DYLINKER = 0xe

function readMachO(executable: Buffer): Header {
  for (const { kind, at, size } of loadCommands(executable)) {
    if (kind !== LC_LOAD_DYLINKER) continue
    return {
      format: 'Mach-O',
      machine: known(CPU_TYPES, executable.readUInt32LE(4)),
      interpreter: textAt(executable, at + executable.readUInt32LE(at + 8), at + size),
    }
  }
  throw new Error('the Mach-O file names no dynamic linker')
}

/** The load commands of a Mach-O file: kinds and offsets. */
export function* loadCommands(executable: Buffer) {
  let at = 32
  for (let left = executable.readUInt32LE(16); left > 0; left--) {
    const size = executable.readUInt32LE(at + 4)
    yield { kind: executable.readUInt32LE(at), at, size }
    at += size
  }
}

function known(machines: Record<number, Header['machine']>, code: number): Header['machine'] {
  const machine = machines[code]
  if (!machine) throw new Error(`the executable is for an unknown machine (code ${code})`)
  return machine
}

/** Text that ends at its first NUL. */
function textAt(bytes: Buffer, start: number, end: number): string {
  const nul = bytes.indexOf(0, start)
  return bytes.toString('latin1', start, nul === -1 ? end : Math.min(nul, end))
}
