import { afterAll, beforeAll, expect, test } from 'bun:test'
import pino from 'pino'
import { setTimeZone } from '../../src/database/time-zone.ts'
import { listen, openTestDatabase, type TestDatabase } from '../support/service.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase()
})
afterAll(() => database.close())

const silent = pino({ enabled: false })

/** /openapi.json, and the text of /docs. */
async function described(url: string) {
  const json = await (await fetch(`${url}/openapi.json`)).text()
  const { info } = JSON.parse(json) as { info: { 'x-time-zone'?: string } }
  return { json, zone: info['x-time-zone'], page: await (await fetch(`${url}/docs`)).text() }
}

test('the time zone of the platform stands in /openapi.json and /docs, and is that of now', async () => {
  const service = listen(database, silent)
  for (const zone of ['America/Chicago', 'Europe/Berlin']) {
    await setTimeZone(database.sql, zone)
    const { json, zone: shown, page } = await described(service.url)
    expect(shown).toBe(zone)
    // Beside the guide: two filters, and the days of records and of parts.
    expect(json.split(`in the time zone of the platform, ${zone}`).length - 1).toBeGreaterThanOrEqual(5)
    expect(json.split('in the time zone of the platform').length).toBe(json.split(`platform, ${zone}`).length)
    expect(page).toContain(`in the time zone of the platform, ${zone}`)
  }
  await service.stop()
})

test('without the database they have the last known time zone, or none', async () => {
  const [informed, uninformed] = [listen(database, silent), listen(database, silent)]
  await setTimeZone(database.sql, 'Asia/Kolkata')
  await described(informed.url)
  await Promise.all([informed.pool.close(), uninformed.pool.close()])
  expect((await described(informed.url)).zone).toBe('Asia/Kolkata')
  const { zone, page } = await described(uninformed.url)
  expect(zone).toBeUndefined()
  expect(page).toContain('in the time zone of the platform.')
  await Promise.all([informed.stop(), uninformed.stop()])
})
