import { test } from 'bun:test'
import { expectNoLoops } from './expect-plans.ts'

const ASSESSMENTS = 2000

// Both had a statement that read a table once for each row.
test.each([
  ['new ones', 0],
  ['people deleted whom stored ones need', 300],
])('a load of %s, where %i assessments are stored, reads no table once for each row', (load, stored) =>
  expectNoLoops(load, ASSESSMENTS, stored, 'ndjson'),
)
