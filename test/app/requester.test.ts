import { expect, test } from 'bun:test'
import { Elysia } from 'elysia'
import { Admission } from '../../src/app/admission.ts'
import { requestLog } from '../../src/app/request-log.ts'
import { requesterOf } from '../../src/app/requester.ts'
import { SlowRefusals } from '../../src/app/slow-refusals.ts'
import { Counters } from '../../src/counters.ts'
import { until } from '../support/until.ts'

const BOUNDS = { size: 1, waitMs: 1000, statementMs: 2000, slowMs: 1000 }

test('the deadline of a request counts from its arrival, whenever it is asked for', async () => {
  const log = { info: () => {}, warn: () => {}, error: () => {} }
  const monitor = {
    ...{ log, slowMs: 1000, counters: new Counters(), admission: new Admission(1, () => 1) },
    ...{ refusals: new SlowRefusals(), isDraining: () => false, onAnswered: () => {} },
  }
  const deadlines: number[] = []
  const app = new Elysia().use(requestLog(monitor)).get('/', async ({ request }) => {
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
