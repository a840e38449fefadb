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

test('1,500 hostile requests (5,000 under CHECK=all) get documented answers', async () => {
  const { requests } = await fuzz(target, { runs: 26, thorough: 84 })
  expect(requests).toBeGreaterThan(thorough ? 5000 : 1500)
  await expectGoodEnd(target)
})
