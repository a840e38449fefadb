import { describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { arch, platform } from 'node:os'
import { join } from 'node:path'
import { readHeader } from '../../scripts/release/header.ts'
import { signatureFault, signedAnew } from '../../scripts/release/signature.ts'
import { sha256Sums } from '../../scripts/release/sums.ts'
import { TARGETS, targetsNamed } from '../../scripts/release/targets.ts'
import { cleanUp, emptyFolder } from '../support/executable.ts'

describe('the targets of a release', () => {
  test('are named by system and machine', () => {
    expect(TARGETS.map(({ name }) => name)).toEqual([
      'linux-x64',
      'linux-arm64',
      'linux-x64-musl',
      'linux-arm64-musl',
      'darwin-x64',
      'darwin-arm64',
    ])
  })

  test('are all of them where none is named, and those that are named otherwise', () => {
    expect(targetsNamed([])).toEqual(TARGETS)
    expect(targetsNamed(['darwin-x64', 'linux-x64']).map(({ bun }) => bun)).toEqual([
      'bun-darwin-x64',
      'bun-linux-x64',
    ])
  })

  test('do not have one of another name', () => {
    expect(() => targetsNamed(['windows-x64'])).toThrow(
      /^there is no target windows-x64: choose from linux-x64,.*$/,
    )
  })
})

describe('the header of an executable', () => {
  test('says what this machine is', async () => {
    const own = TARGETS.find(({ name }) => name.startsWith(`${platform()}-${arch()}`))
    const { format, machine } = readHeader(Buffer.from(await Bun.file(process.execPath).bytes()))
    expect({ format, machine }).toMatchObject({
      format: own?.header.format as string,
      machine: own?.header.machine as string,
    })
  })

  test.each(TARGETS.filter(({ header }) => header.format === 'ELF'))('of $name is read', ({ header }) => {
    expect(readHeader(elf(header.machine === 'x64' ? 62 : 183, header.interpreter))).toEqual(header)
  })

  test.each(TARGETS.filter(({ header }) => header.format === 'Mach-O'))('of $name is read', ({ header }) => {
    const cpu = header.machine === 'x64' ? 0x01000007 : 0x0100000c
    expect(readHeader(machO(cpu, header.interpreter))).toEqual(header)
  })

  test('of another machine is refused', () => {
    expect(() => readHeader(elf(40, '/lib/ld.so'))).toThrow('it is for a machine of kind 40')
    expect(() => readHeader(Buffer.from('#!/bin/sh\nexit 0\n'))).toThrow('it is no executable')
  })
})

describe('the code signature of an executable for macOS', () => {
  test('covers what was signed', () => {
    expect(signatureFault(machO())).toBeUndefined()
  })

  test('does not cover what was written after it was signed', () => {
    const executable = machO()
    executable.write('bundle', 5000)
    expect(signatureFault(executable)).toBe('page 1 is not as it was signed')
  })

  test('is made anew where it does not hold, by nobody, and left as it is where it holds', () => {
    const executable = machO()
    expect(signedAnew(executable)).toBeUndefined()
    executable.write('bundle', 5000)
    const anew = signedAnew(executable) ?? executable
    expect(signatureFault(anew)).toBeUndefined()
    const directory = anew.lastIndexOf(Buffer.from('fade0c02', 'hex'))
    expect(anew.readUInt32BE(directory + 12)).toBe(0x20002)
    expect(anew.includes('somebody')).toBeFalse()
  })

  test('is made anew where the file has grown behind it', () => {
    const executable = machO()
    const grown = Buffer.concat([executable.subarray(0, 8192), Buffer.alloc(8192), executable.subarray(8192)])
    grown.writeUInt32LE(16384, 40)
    expect(signatureFault(grown)).toBe('its code signature does not cover the whole file')
    expect(signatureFault(signedAnew(grown) ?? grown)).toBeUndefined()
  })

  test('is missed where there is none', () => {
    const executable = machO()
    executable.writeUInt32LE(0x1b, 32)
    expect(signatureFault(executable)).toBe('it has no code signature')
  })
})

test('the sums of files are lines as sha256sum reads them, in the order of the names', async () => {
  const folder = emptyFolder()
  const files = ['b', 'a'].map(name => join(folder, name))
  for (const file of files) writeFileSync(file, '')
  const empty = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
  expect(await sha256Sums(files)).toBe(`${empty}  a\n${empty}  b\n`)
  await cleanUp()
})

/** An ELF file of 64 bits with two segments, of which the second names an interpreter. */
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

/** A Mach-O file of two pages with a dynamic linker, and a signature by somebody over both. */
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
  // Two blobs: the directory, and a signature of it.
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
