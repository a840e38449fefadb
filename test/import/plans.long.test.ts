import { setDefaultTimeout, test } from 'bun:test'
import { expectNoLoops } from './expect-plans.ts'
import { LOADS } from './loads.ts'

setDefaultTimeout(120_000)

/** With far fewer, reading a whole table is cheaper than its index. The longest tests try more, other shares, and CSV. */
const ASSESSMENTS = 1000

test.each(Object.keys(LOADS))(
  'a large load reads no table once for each row: %s, where three of twenty are stored',
  load => expectNoLoops(load, ASSESSMENTS, ASSESSMENTS * 0.15, 'ndjson'),
)

// It had a statement that read a table once for each row.
test('a load of new assessments into an empty database reads no table once for each row', () =>
  expectNoLoops('new ones', ASSESSMENTS, 0, 'ndjson'))
