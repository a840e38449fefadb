import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type OwnCluster, startCluster } from '../support/cluster.ts'
import { axport, cleanUp, serve } from '../support/executable.ts'
import { fill } from '../support/outage.ts'
import { until } from '../support/until.ts'

let own: OwnCluster
let token: string

beforeAll(async () => {
  own = await startCluster()
  token = (await fill(own.url())).token
})
afterAll(async () => {
  await cleanUp()
  await own.stop()
})

test('serve outlives its database, which goes twice in the middle of requests, and ends well without it', async () => {
  const running = await serve({ DATABASE_URL: own.url(), DATABASE_WAIT: '2' })
  const ask = async () => {
    const response = await fetch(`${running.url}/api/v1/ax/assessments`, {
      headers: { authorization: `Bearer ${token}` },
    })
    await response.text()
    return response.status
  }
  let isOver = false
  const seen = new Set<number>()
  const load = Array.from({ length: 4 }, async () => {
    while (!isOver) seen.add(await ask())
  })
  for (let time = 0; time < 2; time++) {
    await own.crash()
    await until('it answers with 503', async () => (await ask()) === 503)
    await own.restart()
    await until('it answers with 200', async () => (await ask()) === 200, 2000)
  }
  await own.crash()
  isOver = true
  await Promise.all(load)
  expect([...seen].sort()).toEqual([200, 503])
  const changes = running.stdout().match(/the database can( not)? be reached( again)?/g)
  const [lost, found] = ['the database can not be reached', 'the database can be reached again']
  expect(changes).toEqual([lost, found, lost, found, lost])
  expect(running.stdout()).not.toContain('unforeseen')
  running.signal('SIGTERM')
  expect(await running.finished).toMatchObject({ code: 0, stderr: '' })
  await own.restart()
  expect((await axport(['integration', 'list'], { env: { DATABASE_URL: own.url() } })).code).toBe(0)
})
