import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { cleanUp, PATIENCE } from '../../support/executable.ts'
import { expectGoodEnd, fuzz, startTarget, type Target } from './fuzzing.ts'

/** Minutes of fuzzing under CHECK=all; without it, so many rounds as are run in every CHECK=all. */
const MINUTES = Number(process.env.TEST_FUZZ_MINUTES ?? 0)
const ROUNDS = 500
/** Megabytes that the last third of the requests may add: 10 are usual, 35 when each keeps 16 KB. */
const MORE_MEMORY = 25

setDefaultTimeout(3 * PATIENCE + 2 * MINUTES * 60_000)

let target: Target
beforeAll(async () => {
  target = await startTarget()
})
afterAll(async () => {
  await cleanUp()
  await target?.database.close()
})

test('35,000 hostile requests get documented answers, and no more memory', async () => {
  const thorough = MINUTES > 0 ? Number.POSITIVE_INFINITY : ROUNDS
  const { requests, memory } = await fuzz(target, { runs: ROUNDS, thorough, limit: MINUTES * 60_000 })
  expect(requests).toBeGreaterThan(35_000)
  // What is waiting to be collected comes and goes; what is kept does not. Two fifths warm the service up.
  const least = (from: number, to: number) =>
    Math.min(...memory.slice(from * memory.length, to * memory.length))
  const [half, whole] = [least(0.55, 0.7), least(0.85, 1)]
  console.log(
    `fuzz: ${requests} requests; ${Math.round(half)} MB after some of them, ${Math.round(whole)} MB after all`,
  )
  expect(whole).toBeLessThan(half + MORE_MEMORY)
  await expectGoodEnd(target)
})
