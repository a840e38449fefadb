import { describe, setDefaultTimeout, test } from 'bun:test'
import { expectNoLoops } from './expect-plans.ts'
import { LOADS } from './loads.ts'

setDefaultTimeout(120_000)

/** With fewer, reading a whole table is cheaper than its index. */
const ASSESSMENTS = 3000

describe.each(['ndjson', 'csv'] as const)('a large load of %s reads no table once for each row:', format => {
  test.each(Object.keys(LOADS))('%s, where 0, 1, 15 and 100 % as many are stored', async load => {
    for (const share of [0, 0.01, 0.15, 1])
      await expectNoLoops(load, ASSESSMENTS, ASSESSMENTS * share, format)
  })
})
