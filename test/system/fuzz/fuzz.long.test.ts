import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { cleanUp, TEST_TIMEOUT_MS } from '../../support/executable.ts'
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

test('2,500 hostile requests get documented answers', async () => {
  const { requests } = await fuzz(target, { runs: 42 })
  expect(requests).toBeGreaterThan(2500)
  await expectGoodEnd(target)
})
