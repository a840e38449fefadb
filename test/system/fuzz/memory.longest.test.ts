import { afterAll, expect, test } from 'bun:test'
import { cleanUp } from '../../support/executable.ts'
import { expectGoodEnd, fuzz, startTarget } from './fuzzing.ts'

/**
 * Megabytes that the last third of 35,000 requests may add. 10 are usual; 35 would mean that each request keeps 16 KB.
 */
const MORE_MEMORY = 25

afterAll(cleanUp)

test('35,000 hostile requests get documented answers, and do not increase the memory in use', async () => {
  const target = await startTarget()
  const { requests, memory } = await fuzz(target, { runs: 500 })
  expect(requests).toBeGreaterThan(35_000)
  // The minimum of several rounds leaves out garbage that is not collected yet. The first two fifths are warm-up.
  const least = (from: number, to: number) =>
    Math.min(...memory.slice(from * memory.length, to * memory.length))
  expect(least(0.85, 1)).toBeLessThan(least(0.55, 0.7) + MORE_MEMORY)
  await expectGoodEnd(target)
  await target.database.close()
})
