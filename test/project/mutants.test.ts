import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { mutatedFiles, TESTS, testsOf } from '../../mutants/tests.ts'
import { LEFT_OUT } from '../../mutants/trial.ts'

const root = join(import.meta.dir, '..', '..')

describe('the tests that run for mutants', () => {
  const paths = [...new Set(mutatedFiles(root).flatMap(testsOf))]

  test('are in existing files', () => {
    expect(paths.filter(path => !existsSync(join(root, path)))).toEqual([])
  })

  test('are named for existing files and folders', () => {
    expect(Object.keys(TESTS).filter(key => !existsSync(join(root, key)))).toEqual([])
  })

  test('leave out tests by parts of names that exist', () => {
    const texts = [...paths, 'test/contract/support/kinds.ts'].map(path =>
      readFileSync(join(root, path), 'utf8'),
    )
    expect(LEFT_OUT.filter(name => !texts.some(text => text.includes(name)))).toEqual([])
  })
})
