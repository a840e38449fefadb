// Every record that a client received is recorded as disclosed, although processes are killed with SIGKILL at any
// moment.
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import fc from 'fast-check'
import { openDatabase } from '../../../src/database/database.ts'
import { migrate } from '../../../src/database/migrate.ts'
import { createIntegration } from '../../../src/integrations/credentials.ts'
import { type OwnCluster, startCluster } from '../../support/cluster.ts'
import { record, recorded } from '../../support/disclosures.ts'
import { cleanUp } from '../../support/executable.ts'
import { assessment, educator, ORGANIZATION, PROCTOR, PRODUCT, range, world } from '../../support/fixtures.ts'
import { FlakyProxy } from '../../support/flaky-proxy.ts'
import type { Credentials } from '../../support/http.ts'
import { holds } from '../../support/property.ts'
import { firstToken, type Served, serveWith } from '../../support/served.ts'
import { load } from '../../support/service.ts'
import { randomBelow } from '../../support/tier.ts'
import { until } from '../../support/until.ts'
import { DisclosureClients } from './support/disclosure-clients.ts'
import { untilIdle } from './support/idle.ts'

setDefaultTimeout(10 * 60_000)
afterAll(cleanUp)

const REFERENCED = [...Array.from({ length: 30 }, (_, at) => 101 + at), 4_000_000_000]
const FIRST = 1001
const COUNT = 150
const educatorOf = (id: number) => REFERENCED[(id - FIRST) % REFERENCED.length] as number
const assessmentOf = (id: number) =>
  assessment(id, {
    user_id: educatorOf(id),
    legacy_record: id % 3 === 0,
    certified_at: '2026-03-01T12:00:00Z',
  })

/** The educator of each assessment, both as ids; assessments that a writer has removed are included. */
const EDUCATORS = new Map(
  Array.from({ length: COUNT }, (_, at) => [String(FIRST + at), String(educatorOf(FIRST + at))]),
)

/** Fills an empty database, provisions an integration, and switches the recording of disclosures on. */
async function fill(url: string): Promise<Credentials> {
  const { sql, close } = await openDatabase(url, 2)
  await migrate(sql)
  await load(sql, [
    ...world(),
    ...REFERENCED.map(id => educator(id)),
    ...range(COUNT, at => assessmentOf(FIRST + at)),
  ])
  const credentials = await createIntegration(sql, 'Clients', [String(ORGANIZATION)], [String(PRODUCT)])
  await record(sql)
  await close()
  return credentials
}

/** Removes assessments and inserts them again until the returned function is called. A failed write is skipped. */
async function write(url: string): Promise<() => Promise<void>> {
  const { sql, pool: open, close } = await openDatabase(url, 1)
  await sql.end()
  const pool = open(
    { size: 1, waitMs: 1000, statementMs: 3000, slowMs: 60_000 },
    { info: () => {}, warn: () => {} },
  )
  let isOver = false
  const writing = (async () => {
    while (!isOver) {
      const id = FIRST + randomBelow(COUNT)
      const change = `do $$ begin
        delete from assessments where id = ${id};
        if not found then
          insert into assessments (id, user_id, organization_id, product_id, certified_at)
          values (${id}, ${educatorOf(id)}, ${ORGANIZATION}, ${PRODUCT}, now());
          insert into assessment_parts (id, assessment_id, position, proctor_id) values (${id}, ${id}, 1, ${PROCTOR});
        end if;
      end $$`
      await pool.unsafe(change, [], { prepare: false }).catch(() => Bun.sleep(20))
      await Bun.sleep(5)
    }
  })()
  return async () => {
    isOver = true
    await writing
    await pool.close()
    await close()
  }
}

/** Short limits, so that statements that were lost in an outage do not delay the test. */
const SETTINGS = { STATEMENT_TIMEOUT: '3', DATABASE_POOL_SIZE: '4' }

const EVENTS = ['kill a service', 'crash the database', 'cut connections', 'cut an answer'] as const
type Event = { kind: (typeof EVENTS)[number]; pages: number; milliseconds: number; bytes: number }
/** Each kind of event once, in any order. */
const events = fc
  .tuple(
    ...EVENTS.map(kind =>
      fc.record({
        kind: fc.constant(kind),
        pages: fc.nat({ max: 40 }),
        milliseconds: fc.nat({ max: 12 }),
        bytes: fc.integer({ min: 1, max: 20_000 }),
      }),
    ),
  )
  .chain(all => fc.shuffledSubarray(all, { minLength: all.length }))

/** Three processes, which reach one Postgres through an unreliable network. */
class Deployment {
  readonly services: Served[] = []

  private constructor(
    readonly cluster: OwnCluster,
    readonly proxy: FlakyProxy,
    readonly clients: DisclosureClients,
  ) {}

  static async open(cluster: OwnCluster, credentials: Credentials): Promise<Deployment> {
    const proxy = await FlakyProxy.start(cluster.url())
    const env = { DATABASE_URL: proxy.url, ...SETTINGS }
    const first = await serveWith([], env)
    const token = await firstToken(first.url, credentials)
    const deployment = new Deployment(cluster, proxy, new DisclosureClients(token, 6))
    deployment.services.push(first, await serveWith([], env), await serveWith([], env))
    deployment.#updateUrls()
    return deployment
  }

  #updateUrls(): void {
    this.clients.urls = this.services.map(({ url }) => url)
  }

  async act({ kind, pages, milliseconds, bytes }: Event): Promise<void> {
    const { clients, proxy, cluster } = this
    const goal = clients.received + pages
    await until('clients receive further answers', () => clients.received >= goal, 60_000)
    await Bun.sleep(milliseconds)
    if (kind === 'crash the database') await cluster.restart()
    if (kind === 'cut connections') proxy.cut()
    if (kind === 'cut an answer') {
      proxy.setNetwork({ is: 'cutting', after: () => 1 + randomBelow(bytes) })
      await Bun.sleep(50)
      proxy.setNetwork({ is: 'normal' })
    }
    if (kind === 'kill a service') {
      const killed = this.services.shift() as Served
      killed.signal('SIGKILL')
      await killed.finished
      this.services.push(await serveWith([], { DATABASE_URL: proxy.url, ...SETTINGS }))
      this.#updateUrls()
    }
  }

  async close(): Promise<void> {
    await this.clients.stop()
    for (const running of this.services) {
      running.signal('SIGKILL')
      await running.finished
    }
    await this.proxy.stop()
  }
}

test('disclosures are recorded for all received records, and for no others but answers that broke off, when processes and connections are killed at random', async () => {
  const cluster = await startCluster()
  try {
    const credentials = await fill(cluster.url())
    const property = fc.asyncProperty(events, async plan => {
      const deployment = await Deployment.open(cluster, credentials)
      const stopWriting = await write(cluster.url())
      try {
        for (const event of plan) await deployment.act(event)
        const goal = deployment.clients.received + 30
        await until(
          'clients receive answers after the last event',
          () => deployment.clients.received >= goal,
          60_000,
        )
      } finally {
        await deployment.close()
        await stopWriting()
      }
      const { sql, close } = await openDatabase(cluster.url(), 1)
      await untilIdle(sql)
      expect(deployment.clients.contradictions(await recorded(sql), EDUCATORS)).toEqual([])
      await sql`delete from disclosures`
      await close()
      console.log(
        `  ${plan.map(({ kind }) => kind).join(', ')}: ${JSON.stringify(deployment.clients.summary())}`,
      )
    })
    await holds(property, { runs: 1, shrink: false })
  } finally {
    await cluster.stop()
  }
})
