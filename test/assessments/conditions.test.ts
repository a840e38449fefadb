import { expect, test } from 'bun:test'
import { isBigint } from '../../src/assessments/conditions.ts'

test.each([
  ['9223372036854775807', true],
  ['9223372036854775808', false],
  ['-9223372036854775808', true],
  ['-9223372036854775809', false],
])('Whether Postgres can store %s as a bigint id: %p', (id, expected) => {
  expect(isBigint(id)).toBe(expected)
})
