import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { endBackends } from '../support/ended-backends.ts'
import { cleanUp } from '../support/executable.ts'

setDefaultTimeout(10 * 60_000)
afterAll(cleanUp)

test('a command whose backend is ended at a random moment says so in one line, and what it says is true', async () => {
  await endBackends(40)
  expect().pass()
})
