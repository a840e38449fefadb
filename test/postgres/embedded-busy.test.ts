import { afterAll, beforeAll, expect, test } from 'bun:test'
import pino from 'pino'
import { authorize, listen, load, openTestDatabase, type TestDatabase } from '../support/service.ts'
import { until } from '../support/until.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase('embedded')
})
afterAll(() => database.close())

test('while a transaction blocks the embedded database, requests get 503 before its end, and succeed afterwards', async () => {
  const { sql } = database
  await load(sql, [
    { type: 'organization', id: 12, name: 'Lakeside District' },
    { type: 'product', id: 7, name: 'Reading Observation' },
  ])
  const service = listen(database, pino({ enabled: false }), { waitMs: 500, statementMs: 1000 })
  const { token } = await authorize({ ...database, baseUrl: service.url, logged: () => '' }, [12], [7])
  const ask = () =>
    fetch(`${service.url}/api/v1/ax/assessments`, { headers: { authorization: `Bearer ${token}` } })
  expect((await ask()).status).toBe(200)

  const holder = await sql.reserve()
  await holder`begin`
  const answers = await Promise.all(Array.from({ length: 20 }, ask))
  for (const { status, headers } of answers) {
    expect(status).toBe(503)
    expect(headers.get('retry-after')).toMatch(/^[1-9]$/)
  }
  await holder`commit`
  holder.release()
  await until('it answers again', async () => (await ask()).status === 200)
  await service.stop()
})
