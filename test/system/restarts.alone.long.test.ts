import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { cleanUp } from '../support/executable.ts'
import { fill } from '../support/outage.ts'
import { type OwnCluster, startCluster } from '../support/own-cluster.ts'
import { type Served, serveWith } from '../support/served.ts'
import { backAfter, recoveryMs } from './support/back.ts'

/** RESTARTS=100 measures, and prints how long each took. */
const RESTARTS = Number(process.env.RESTARTS ?? 5)

setDefaultTimeout(60_000 + RESTARTS * 10_000)

let own: OwnCluster
let service: Served
let credentials: Awaited<ReturnType<typeof fill>>
beforeAll(async () => {
  own = await startCluster()
  credentials = await fill(own.url())
  service = await serveWith([], { DATABASE_URL: own.url() })
})
afterAll(async () => {
  await cleanUp()
  await own.stop()
})

test('after each fast restart of Postgres under load, every endpoint is back 2 s after the first connection that Postgres accepts', async () => {
  const loaded = {
    baseUrl: service.url,
    token: credentials.token,
    credentials,
    id: 9001,
    database: own.url(),
  }
  const most = await recoveryMs(loaded.database)
  const took: number[] = []
  const late: number[] = []
  for (let restart = 0; restart < RESTARTS; restart++) {
    const ms = await backAfter(loaded, async () => {
      await own.shutDown()
      await own.restart()
    })
    took.push(Math.round(ms))
    if (ms > most) late.push(Math.round(ms))
  }
  if (process.env.RESTARTS)
    console.log(`milliseconds of ${RESTARTS} restarts: ${took.sort((a, b) => a - b).join(' ')}`)
  expect({ took, late }).toEqual({ took, late: [] })
})
