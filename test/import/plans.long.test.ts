import { setDefaultTimeout, test } from 'bun:test'
import { expectNoLoops } from './expect-plans.ts'
import { LOADS } from './loads.ts'

setDefaultTimeout(120_000)

/** With far fewer, reading a whole table is cheaper than its index. The longest tests try more, other shares, and CSV. */
const ASSESSMENTS = 2000

test.each(Object.keys(LOADS))(
  'a large load reads no table once for each row: %s, where 15 %% are stored',
  load => expectNoLoops(load, ASSESSMENTS, ASSESSMENTS * 0.15, 'ndjson'),
)

// Both had a statement that read a table once for each row.
test.each([
  ['new ones', 0],
  ['people deleted whom stored ones need', 300],
])('a load of %s, where %i assessments are stored, reads no table once for each row', (load, stored) =>
  expectNoLoops(load, ASSESSMENTS, stored, 'ndjson'),
)
