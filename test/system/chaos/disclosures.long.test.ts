// What was received is recorded, whatever is killed with -9, and when.
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import fc from 'fast-check'
import type { Sql } from 'postgres'
import { createIntegration } from '../../../src/integrations/create.ts'
import { openDatabase } from '../../../src/postgres/database.ts'
import { migrate } from '../../../src/postgres/schema/migrate.ts'
import { type OwnCluster, startCluster } from '../../support/cluster.ts'
import { record, recorded } from '../../support/disclosures.ts'
import { cleanUp, emptyFolder } from '../../support/executable.ts'
import { assessment, educator, ORGANIZATION, PROCTOR, PRODUCT, range, world } from '../../support/fixtures.ts'
import { FlakyProxy } from '../../support/flaky-proxy.ts'
import { type Credentials, newToken } from '../../support/http.ts'
import { holds } from '../../support/property.ts'
import { type Served, serveWith } from '../../support/served.ts'
import { load } from '../../support/service.ts'
import { randomBelow } from '../../support/tier.ts'
import { until } from '../../support/until.ts'
import { Witness } from './support/witness.ts'

setDefaultTimeout(10 * 60_000)
afterAll(cleanUp)

const PEOPLE = [...Array.from({ length: 30 }, (_, at) => 101 + at), 4_000_000_000]
const FIRST = 1001
const COUNT = 150
const educatorOf = (id: number) => PEOPLE[(id - FIRST) % PEOPLE.length] as number
const assessmentOf = (id: number) =>
  assessment(id, {
    user_id: educatorOf(id),
    legacy_record: id % 3 === 0,
    certified_at: '2026-03-01T12:00:00Z',
  })

/** By the id of the assessment, also of one that a writer has removed since. */
const EDUCATORS = new Map(
  Array.from({ length: COUNT }, (_, at) => [String(FIRST + at), String(educatorOf(FIRST + at))]),
)

/** Fills an empty database, of which what it shows is recorded from now on. */
async function fill(url: string): Promise<Credentials> {
  const { sql, close } = await openDatabase(url, 2)
  await migrate(sql)
  await load(sql, [
    ...world(),
    ...PEOPLE.map(id => educator(id)),
    ...range(COUNT, at => assessmentOf(FIRST + at)),
  ])
  const credentials = await createIntegration(sql, 'Witness', [String(ORGANIZATION)], [String(PRODUCT)])
  await record(sql)
  await close()
  return credentials
}

/** Removes assessments and puts them back, until the returned function is called; waits while there is no database. */
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

/** So that the token of the witness lives through it all, and a statement is not waited for until the end of time. */
const SETTINGS = { DATABASE_WAIT: '1', STATEMENT_TIMEOUT: '3', DATABASE_POOL_SIZE: '4' }

const EVENTS = [
  'kill a service',
  'kill a worker',
  'crash the database',
  'cut connections',
  'cut an answer',
] as const
type Event = { what: (typeof EVENTS)[number]; pages: number; milliseconds: number; bytes: number }
const events = fc.array(
  fc.record({
    what: fc.constantFrom(...EVENTS),
    pages: fc.nat({ max: 60 }),
    milliseconds: fc.nat({ max: 12 }),
    bytes: fc.integer({ min: 1, max: 20_000 }),
  }),
  { minLength: 5, maxLength: 8 },
)

/** Two processes that share nothing, and a third that has two workers, which reach a Postgres through a bad network. */
class Scene {
  readonly services: Served[] = []
  workers!: Served

  private constructor(
    readonly cluster: OwnCluster,
    readonly proxy: FlakyProxy,
    readonly witness: Witness,
  ) {}

  static async open(cluster: OwnCluster, credentials: Credentials): Promise<Scene> {
    const proxy = await FlakyProxy.start(cluster.url())
    const env = { DATABASE_URL: proxy.url, ...SETTINGS }
    const workers = await serveWith(['--workers', '2'], env)
    const scene = new Scene(cluster, proxy, new Witness(await newToken(workers.url, credentials), 6))
    scene.workers = workers
    for (let n = 0; n < 2; n++) scene.services.push(await serveWith([], env))
    scene.#look()
    return scene
  }

  #look(): void {
    this.witness.urls = [this.workers, ...this.services].map(({ url }) => url)
  }

  async act({ what, pages, milliseconds, bytes }: Event): Promise<void> {
    const { witness, proxy, cluster } = this
    const goal = witness.received + pages
    await until('answers are received', () => witness.received >= goal, 60_000)
    await Bun.sleep(milliseconds)
    if (what === 'crash the database') await cluster.restart()
    if (what === 'cut connections') proxy.cut()
    if (what === 'cut an answer') {
      proxy.become({ is: 'cutting', after: () => 1 + randomBelow(bytes) })
      await Bun.sleep(50)
      proxy.become({ is: 'fair' })
    }
    if (what === 'kill a worker') {
      const pids = this.workers
        .log()
        .flatMap(({ msg, pid }) => (msg === 'worker listening' ? [Number(pid)] : []))
      try {
        process.kill(pids.at(-1 - randomBelow(2)) ?? 0, 'SIGKILL')
      } catch {
        // It was killed before.
      }
    }
    if (what === 'kill a service') {
      const victim = this.services.shift() as Served
      victim.signal('SIGKILL')
      await victim.finished
      this.services.push(
        await serveWith([], { DATABASE_URL: proxy.url, ...SETTINGS, DATABASE_START_WAIT: '60' }),
      )
      this.#look()
    }
  }

  async close(): Promise<void> {
    await this.witness.stop()
    for (const running of [this.workers, ...this.services]) {
      running.signal('SIGKILL')
      await running.finished
    }
    await this.proxy.stop()
  }
}

test('what clients received is recorded, and beside that only what broke off, whatever is killed and when', async () => {
  const cluster = await startCluster()
  try {
    const credentials = await fill(cluster.url())
    const property = fc.asyncProperty(events, async plan => {
      const scene = await Scene.open(cluster, credentials)
      const stopWriting = await write(cluster.url())
      try {
        for (const event of plan) await scene.act(event)
        const goal = scene.witness.received + 50
        await until('answers are received in the end', () => scene.witness.received >= goal, 60_000)
      } finally {
        await scene.close()
        await stopWriting()
      }
      const { sql, close } = await openDatabase(cluster.url(), 1)
      await untilQuiet(sql)
      expect(scene.witness.contradictions(await recorded(sql), EDUCATORS)).toEqual([])
      await sql`delete from disclosures`
      await close()
      console.log(`  ${plan.map(({ what }) => what).join(', ')}: ${JSON.stringify(scene.witness.summary())}`)
    })
    await holds(property, { runs: 2, shrink: false })
  } finally {
    await cluster.stop()
  }
})

/** Postgres goes on with a statement whose client is gone. */
async function untilQuiet(sql: Sql): Promise<void> {
  await until('nobody is at work', async () => {
    const busy = await sql`
      select from pg_stat_activity
      where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid()`
    return busy.count === 0
  })
}

test('so it is on the embedded database, which is killed with its service', async () => {
  const url = `embedded:${emptyFolder()}`
  const credentials = await fill(url)
  const env = { DATABASE_URL: url }
  let service = await serveWith([], env)
  const witness = new Witness(await newToken(service.url, credentials), 3)
  for (let time = 0; time < 3; time++) {
    witness.urls = [service.url]
    const goal = witness.received + 30 + randomBelow(30)
    await until('answers are received', () => witness.received >= goal, 60_000)
    await Bun.sleep(randomBelow(20))
    service.signal('SIGKILL')
    await service.finished
    witness.urls = []
    service = await serveWith([], env)
  }
  await witness.stop()
  await service.end()
  const { sql, close } = await openDatabase(url, 1)
  expect(witness.contradictions(await recorded(sql), EDUCATORS)).toEqual([])
  await close()
})
