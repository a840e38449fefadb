import { expect, test } from 'bun:test'
import { isBigint } from '../../src/assessments/conditions.ts'

test.each([
  ['9223372036854775807', true],
  ['9223372036854775808', false],
  ['-9223372036854775808', true],
  ['-9223372036854775809', false],
])('Whether %s is an id that Postgres can hold is %p', (id, expected) => {
  expect(isBigint(id)).toBe(expected)
})
