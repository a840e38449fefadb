import { describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sha256Sums } from '../../scripts/release/packing.ts'
import { requireMachine, TARGETS, targetsNamed } from '../../scripts/release/targets.ts'
import { cleanUp, emptyFolder } from '../support/executable.ts'

describe('the targets of a release', () => {
  test('can be chosen by name; without a name, both are chosen', () => {
    expect(targetsNamed([]).map(({ name }) => name)).toEqual(['linux-x64', 'linux-arm64'])
    expect(targetsNamed(['linux-arm64'])).toEqual(TARGETS.slice(1))
  })

  test('cannot be chosen by an unknown name', () => {
    expect(() => targetsNamed(['windows-x64'])).toThrow(
      /^there is no target windows-x64: choose from linux-x64, linux-arm64$/,
    )
  })
})

test('requireMachine() accepts only an ELF file for the machine of the target', () => {
  const elf = (code: number) => {
    const file = Buffer.alloc(64)
    file.write('7f454c460201', 'hex')
    file.writeUInt16LE(code, 18)
    return file
  }
  for (const target of TARGETS) {
    const [other] = TARGETS.filter(each => each !== target)
    requireMachine(elf(target.code), target)
    for (const file of [elf(other?.code ?? 0), Buffer.from('#!/bin/sh\nexit 0\n')])
      expect(() => requireMachine(file, target)).toThrow(`no executable for ${target.name}`)
  }
})

test('sha256Sums() writes lines that sha256sum reads, in the order of the file names', async () => {
  const folder = emptyFolder()
  const files = ['b', 'a'].map(name => join(folder, name))
  for (const file of files) writeFileSync(file, '')
  const empty = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
  expect(await sha256Sums(files)).toBe(`${empty}  a\n${empty}  b\n`)
  await cleanUp()
})
