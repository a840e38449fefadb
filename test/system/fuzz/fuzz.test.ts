import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { cleanUp, PATIENCE } from '../../support/executable.ts'
import { thorough } from '../../support/tier.ts'
import { expectGoodEnd, fuzz, startTarget, type Target } from './fuzzing.ts'

/** Megabytes that the last third of 35,000 requests may add: 10 are usual, 35 when each keeps 16 KB. */
const MORE_MEMORY = 25

setDefaultTimeout(3 * PATIENCE)

let target: Target
beforeAll(async () => {
  target = await startTarget()
})
afterAll(async () => {
  await cleanUp()
  await target?.database.close()
})

test('2,500 hostile requests (35,000 under CHECK=all) get documented answers, and no more memory', async () => {
  const { requests, memory } = await fuzz(target, {
    runs: 40,
    thorough: 500,
    limit: Number.POSITIVE_INFINITY,
  })
  expect(requests).toBeGreaterThan(thorough ? 35_000 : 2500)
  if (thorough) {
    // What is waiting to be collected comes and goes; what is kept does not. Two fifths warm the service up.
    const least = (from: number, to: number) =>
      Math.min(...memory.slice(from * memory.length, to * memory.length))
    expect(least(0.85, 1)).toBeLessThan(least(0.55, 0.7) + MORE_MEMORY)
  }
  await expectGoodEnd(target)
})
