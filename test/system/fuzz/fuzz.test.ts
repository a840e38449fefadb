import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { cleanUp, TEST_TIMEOUT_MS } from '../../support/executable.ts'
import { thorough } from '../../support/tier.ts'
import { expectGoodEnd, fuzz, startTarget, type Target } from './fuzzing.ts'

setDefaultTimeout(3 * TEST_TIMEOUT_MS)

let target: Target
beforeAll(async () => {
  target = await startTarget()
})
afterAll(async () => {
  await cleanUp()
  await target?.database.close()
})

test('2,500 hostile requests (10,000 under CHECK=all) get documented answers', async () => {
  const { requests } = await fuzz(target, { runs: 40, thorough: 160 })
  expect(requests).toBeGreaterThan(thorough ? 10_000 : 2500)
  await expectGoodEnd(target)
})
