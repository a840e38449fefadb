import { describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { arch, platform } from 'node:os'
import { join } from 'node:path'
import { sha256Sums } from '../../scripts/release/checksums.ts'
import { readHeader } from '../../scripts/release/header.ts'
import { signatureFault, signedAnew } from '../../scripts/release/signature.ts'
import { TARGETS, targetsNamed } from '../../scripts/release/targets.ts'
import { cleanUp, emptyFolder } from '../support/executable.ts'

describe('the targets of a release', () => {
  test('have names of system and machine', () => {
    expect(TARGETS.map(({ name }) => name)).toEqual([
      'linux-x64',
      'linux-arm64',
      'linux-x64-musl',
      'linux-arm64-musl',
      'darwin-x64',
      'darwin-arm64',
    ])
  })

  test('can be chosen by name; without a name, all are chosen', () => {
    expect(targetsNamed([])).toEqual(TARGETS)
    expect(targetsNamed(['darwin-x64', 'linux-x64']).map(({ bun }) => bun)).toEqual([
      'bun-darwin-x64',
      'bun-linux-x64',
    ])
  })

  test('cannot be chosen by an unknown name', () => {
    expect(() => targetsNamed(['windows-x64'])).toThrow(
      /^there is no target windows-x64: choose from linux-x64,.*$/,
    )
  })
})

describe('the header of an executable', () => {
  test('names this machine if the executable runs here', async () => {
    const own = TARGETS.find(({ name }) => name.startsWith(`${platform()}-${arch()}`))
    const { format, machine } = readHeader(Buffer.from(await Bun.file(process.execPath).bytes()))
    expect({ format, machine }).toMatchObject({
      format: own?.header.format as string,
      machine: own?.header.machine as string,
    })
  })

  test.each(TARGETS.filter(({ header }) => header.format === 'ELF'))(
    'of $name is read from the ELF file',
    ({ header }) => {
      expect(readHeader(elf(header.machine === 'x64' ? 62 : 183, header.interpreter))).toEqual(header)
    },
  )

  test.each(TARGETS.filter(({ header }) => header.format === 'Mach-O'))(
    'of $name is read from the Mach-O file',
    ({ header }) => {
      const cpu = header.machine === 'x64' ? 0x01000007 : 0x0100000c
      expect(readHeader(machO(cpu, header.interpreter))).toEqual(header)
    },
  )

  test('of an unknown machine or another file format is an error', () => {
    expect(() => readHeader(elf(40, '/lib/ld.so'))).toThrow('an unknown machine (code 40)')
    expect(() => readHeader(Buffer.from('#!/bin/sh\nexit 0\n'))).toThrow('the file is no 64-bit executable')
  })
})

describe('the code signature of an executable for macOS', () => {
  test('is valid for an unchanged file', () => {
    expect(signatureFault(machO())).toBeUndefined()
  })

  test('is invalid for a file that was changed after it was signed', () => {
    const executable = machO()
    executable.write('bundle', 5000)
    expect(signatureFault(executable)).toBe('page 1 differs from its signed digest')
  })

  test('is replaced by an ad-hoc signature if it is invalid, and kept if it is valid', () => {
    const executable = machO()
    expect(signedAnew(executable)).toBeUndefined()
    executable.write('bundle', 5000)
    const anew = signedAnew(executable) ?? executable
    expect(signatureFault(anew)).toBeUndefined()
    const directory = anew.lastIndexOf(Buffer.from('fade0c02', 'hex'))
    expect(anew.readUInt32BE(directory + 12)).toBe(0x20002)
    expect(anew.includes('somebody')).toBeFalse()
  })

  test('is replaced if the file was extended after the signature', () => {
    const executable = machO()
    const grown = Buffer.concat([executable.subarray(0, 8192), Buffer.alloc(8192), executable.subarray(8192)])
    grown.writeUInt32LE(16384, 40)
    expect(signatureFault(grown)).toBe('the code signature does not cover the whole file')
    expect(signatureFault(signedAnew(grown) ?? grown)).toBeUndefined()
  })

  test('is a fault if it is missing', () => {
    const executable = machO()
    executable.writeUInt32LE(0x1b, 32)
    expect(signatureFault(executable)).toBe('the file has no code signature')
  })
})

test('sha256Sums() writes lines that sha256sum reads, in the order of the file names', async () => {
  const folder = emptyFolder()
  const files = ['b', 'a'].map(name => join(folder, name))
  for (const file of files) writeFileSync(file, '')
  const empty = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
  expect(await sha256Sums(files)).toBe(`${empty}  a\n${empty}  b\n`)
  await cleanUp()
})

/** A 64-bit ELF file with two segments, of which the second names an interpreter. */
function elf(machine: number, interpreter: string): Buffer {
  const file = Buffer.alloc(64 + 2 * 56 + interpreter.length + 1)
  file.write('7f454c460201', 'hex')
  file.writeUInt16LE(machine, 18)
  file.writeBigUInt64LE(64n, 32)
  file.writeUInt16LE(56, 54)
  file.writeUInt16LE(2, 56)
  file.writeUInt32LE(1, 64)
  file.writeUInt32LE(3, 64 + 56)
  file.writeBigUInt64LE(176n, 64 + 56 + 8)
  file.writeBigUInt64LE(BigInt(interpreter.length + 1), 64 + 56 + 32)
  file.write(interpreter, 176)
  return file
}

/** A Mach-O file with two pages, a dynamic linker, and a signature over both pages. */
function machO(cpu = 0x01000007, linker = '/usr/lib/dyld'): Buffer {
  const start = 2 * 4096
  const file = Buffer.alloc(start + 28 + 128 + 16)
  file.write('cffaedfe', 'hex')
  file.writeUInt32LE(cpu, 4)
  file.writeUInt32LE(2, 16)
  file.writeUInt32LE(0x1d, 32)
  file.writeUInt32LE(16, 36)
  file.writeUInt32LE(start, 40)
  file.writeUInt32LE(0xe, 48)
  file.writeUInt32LE(32, 52)
  file.writeUInt32LE(12, 56)
  file.write(linker, 60)
  // The signature has two blobs: the directory, and the directory's signature.
  const directory = start + 28
  for (const [at, value] of [0xfade0cc0, 172, 2, 0, 28, 0x10000, 156].entries())
    file.writeUInt32BE(value, start + at * 4)
  for (const [at, value] of [0xfade0c02, 128, 0x20500, 0x10000, 64, 0, 0, 2, start].entries())
    file.writeUInt32BE(value, directory + at * 4)
  file.set([32, 2, 0, 12], directory + 36)
  for (const page of [0, 1]) {
    const digest = new Bun.CryptoHasher('sha256')
      .update(file.subarray(page * 4096, (page + 1) * 4096))
      .digest()
    file.set(digest, directory + 64 + page * 32)
  }
  file.write('somebody', start + 156 + 4)
  return file
}
