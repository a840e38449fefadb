import { expect, test } from 'bun:test'
import { Elysia } from 'elysia'
import { requestLog } from '../../src/app/request-log.ts'
import { requesterOf } from '../../src/app/requester.ts'
import { monitorWith } from '../support/monitor.ts'
import { until } from '../support/until.ts'

const BOUNDS = { size: 1, waitMs: 1000, statementMs: 2000, slowMs: 1000 }

test('the deadline of a request counts from its arrival, whenever it is asked for', async () => {
  const deadlines: number[] = []
  const app = new Elysia().use(requestLog(monitorWith())).get('/', async ({ request }) => {
    deadlines.push(requesterOf(request, BOUNDS).deadline)
    const now = performance.now()
    await until('time has passed', () => performance.now() > now + 1)
    deadlines.push(requesterOf(request, BOUNDS).deadline)
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
