import { expect, test } from 'bun:test'
import { Elysia } from 'elysia'
import { requestBounds } from '../../src/app/request-bounds.ts'
import { requestLog } from '../../src/app/request-log.ts'
import { serviceContext } from '../support/service-context.ts'
import { until } from '../support/until.ts'

const BOUNDS = { size: 1, waitMs: 1000, statementMs: 2000, slowMs: 1000 }

test('the deadline of a request counts from its arrival, whenever it is asked for', async () => {
  const deadlines: number[] = []
  const app = new Elysia().use(requestLog(serviceContext())).get('/', async ({ request }) => {
    deadlines.push(requestBounds(request, BOUNDS).deadline)
    const now = performance.now()
    await until('time has passed', () => performance.now() > now + 1)
    deadlines.push(requestBounds(request, BOUNDS).deadline)
    return ''
  })
  const before = performance.now()
  await app.handle(new Request('http://localhost/'))
  const [first = 0, later = 0] = deadlines
  expect(later).toBe(first)
  // Waiting for a connection, a statement, and a second to end it.
  expect(first).toBeGreaterThanOrEqual(before + 4000)
  expect(first).toBeLessThan(performance.now() + 4000)
})
