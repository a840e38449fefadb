import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { MUTATED, testsOf } from '../mutants/tests.ts'

test('test/mutants/tests.ts lists only existing files of code and tests', () => {
  const root = join(import.meta.dir, '..', '..')
  const paths = MUTATED.flatMap(path => [path, ...testsOf(path)])
  expect([...new Set(paths)].filter(path => !existsSync(join(root, path)))).toEqual([])
})
