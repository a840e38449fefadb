import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import pino from 'pino'
import postgres from 'postgres'
import { openDatabase } from '../../src/database/database.ts'
import { StatementTimeout } from '../../src/database/failures.ts'
import { record } from '../support/disclosures.ts'
import { badFindings, detailOf } from '../support/doctor.ts'
import { axport } from '../support/executable.ts'
import { get, LIST } from '../support/http.ts'
import { requires } from '../support/requires.ts'
import { authorize, listen, startService, type TestService } from '../support/service.ts'
import { store } from '../support/stored-platform.ts'
import { until } from '../support/until.ts'
import { importing } from './support/operations.ts'
import { PGBOUNCER, startPgBouncer } from './support/pgbouncer.ts'
import { SCOPE, smallPlatform } from './support/small-platform.ts'

setDefaultTimeout(120_000)

const PATHS = [
  '',
  '?page=7&offset=13',
  '?filter[legacy_record][]=true',
  '?filter[legacy_record][]=false',
  '?filter[user_record_status][]=active',
  '?filter[user_record_status][]=archived',
  '?filter[start_date]=2026-01-10&filter[end_date]=2026-01-20',
  '?filter[product_ids][]=11',
  '?filter[organization_ids][]=1&filter[organization_ids][]=3',
  '?filter[user_ids][]=101&filter[user_ids][]=104',
  '?filter[seids][]=S-102',
  '?filter[proctor_ids][]=102&sort=user_name&order=DESC',
  '?filter[search]=given101',
  '?filter[search]=Fam&sort=proctor_name',
  '/1001',
  '/1',
].map(query => LIST + query)

const silent = { info: () => {}, warn: () => {} }

const CLIENTS = 8
const ROUNDS = 2

/** Servers of a PgBouncer that has fewer of them than a pool has connections. */
const FEW = 4
const MANY = { size: 10, waitMs: 20_000, statementMs: 20_000, slowMs: 20_000 }

/** Statements that invalidate cached plans. */
const INVALIDATING = [
  'analyze',
  'alter table export_records alter column document type varchar',
  'alter table export_records alter column document type text',
  'create index disturbing on access_tokens (created_at)',
  'drop index disturbing',
]

// In session mode each client keeps a connection: the service one for each in its pool, and every command one more.
for (const [mode, size] of [
  ['transaction', 5],
  ['session', 20],
] as const)
  requires(PGBOUNCER).describe(`behind PgBouncer in ${mode} mode`, () => {
    let direct: TestService
    let token: string
    let bouncer: Awaited<ReturnType<typeof startPgBouncer>>
    let service: ReturnType<typeof listen>
    let close: () => Promise<void>

    beforeAll(async () => {
      direct = await startService()
      const platform = smallPlatform()
      await store(direct.sql, {
        ...platform,
        users: platform.users.map((user, at) => ({ ...user, record_status: at % 3 ? 'active' : 'archived' })),
        assessments: platform.assessments.map((row, at) => ({ ...row, legacy_record: at % 5 === 0 })),
      })
      token = (await authorize(direct, SCOPE.organizations, SCOPE.products)).token
      bouncer = await startPgBouncer(direct.url, mode, size)
      const database = await openDatabase(bouncer.url, 5)
      service = listen(database, pino({ level: 'silent' }))
      close = database.close
    })
    afterAll(async () => {
      await service?.stop()
      await close?.()
      await bouncer?.stop()
      await direct?.close()
    })

    const read = async (baseUrl: string, path: string) => {
      const { status, text } = await get(baseUrl, token, path)
      return { path, status, text }
    }

    /** Several clients request all paths, in different orders. Every answer must be the same as without PgBouncer. */
    async function expectSame(): Promise<void> {
      const right = await Promise.all(PATHS.map(path => read(direct.baseUrl, path)))
      expect(new Set(right.map(({ status }) => status))).toEqual(new Set([200, 404]))
      expect(new Set(right.map(({ text }) => text)).size).toBe(PATHS.length)
      const clients = Array.from({ length: CLIENTS }, async (_, client) => {
        for (let at = 0; at < ROUNDS * PATHS.length; at++) {
          const expected = right[(at * (client + 1) + client) % PATHS.length] as (typeof right)[number]
          expect(await read(service.url, expected.path)).toEqual(expected)
        }
      })
      await Promise.all(clients)
    }

    test('concurrent requests with every filter get the same answers as without PgBouncer', expectSame)

    test('requests get the same answers as without PgBouncer while other statements invalidate cached plans', async () => {
      let isOver = false
      const invalidating = (async () => {
        for (let at = 0; !isOver || at % INVALIDATING.length !== 0; at++)
          await direct.sql.unsafe(INVALIDATING[at % INVALIDATING.length] as string)
      })()
      await expectSame().finally(() => {
        isOver = true
      })
      await invalidating
    })

    test('the disclosure of every answer is recorded once', async () => {
      await record(direct.sql)
      await expectSame()
      await record(direct.sql, false)
      const [found] = await direct.sql`
        select count(*)::integer as answers, count(distinct request_id)::integer as requests from disclosures`
      const clients = CLIENTS * ROUNDS * PATHS.length
      expect(found?.answers).toBe(found?.requests)
      expect(found?.answers).toBeGreaterThan(clients / 2)
    })

    test('a statement that exceeds the statement timeout is cancelled in Postgres, too', async () => {
      const database = await openDatabase(bouncer.url, 1)
      const pool = database.pool({ size: 1, waitMs: 5000, statementMs: 300, slowMs: 5000 }, silent)
      const late = pool.unsafe('select pg_sleep(60)', [], { prepare: false })
      await expect(late).rejects.toThrow(StatementTimeout)
      await until('no backend runs pg_sleep() any more', async () => {
        const { count } = await direct.sql`select from pg_stat_activity where wait_event = 'PgSleep'`
        return count === 0
      })
      await pool.close()
      await database.close()
    })

    test('with fewer servers than connections every statement is answered, and failures harm no other', async () => {
      const few = await startPgBouncer(direct.url, mode, FEW)
      const database = await openDatabase(few.url, 1)
      const pool = database.pool(MANY, silent)
      const plain = { prepare: true }
      const client = async (_: unknown, at: number) => {
        for (let round = 0; round < 20; round++) {
          const failing = pool.unsafe('select 1 / $1::integer', [0], plain)
          await expect(failing).rejects.toThrow('division by zero')
          const text = 'select $1::integer as n from pg_sleep(0.01)'
          const [row] = (await pool.unsafe(text, [at], plain)) as { n: number }[]
          expect(row?.n).toBe(at)
        }
      }
      await Promise.all(Array.from({ length: 2 * MANY.size }, client))
      const { idle } = pool.stats()
      // One server belongs to the watchdog.
      if (mode === 'session') expect(idle).toBe(FEW - 1)
      else expect(idle).toBe(MANY.size)
      await pool.close()
      await database.close()
      await few.stop()
    })

    test('doctor notices the pooler, and finds nothing wrong', async () => {
      expect(await detailOf(bouncer.url, 'server')).toContain(', through a pooler, ')
      expect(await badFindings(bouncer.url)).toEqual([])
    })

    test('import, integration, erase and doctor succeed', async () => {
      const env = { DATABASE_URL: bouncer.url }
      const lines = [{ type: 'organization', id: 4, name: 'Added' }]
      expect(await importing(bouncer.url, lines)).toMatchObject({ code: 0 })
      const created = ['integration', 'create', 'Behind', '--organizations', '4', '--products', '11']
      expect(await axport(created, { env })).toMatchObject({ code: 0 })
      expect((await axport(['integration', 'list'], { env })).stdout).toContain('Behind')
      expect((await axport(['erase', '101', '--yes'], { env })).stdout).toStartWith(
        'user         101 is erased',
      )
      expect(await axport(['doctor', '--full'], { env })).toMatchObject({ code: 0 })
    })
  })

requires(PGBOUNCER).test(
  'the connections that a pooler in session mode has for a pool are counted again each minute',
  async () => {
    const direct = await startService()
    const bouncer = await startPgBouncer(direct.url, 'session', FEW)
    const others = postgres(bouncer.url, { max: 2, fetch_types: false })
    await Promise.all([others`select pg_sleep(0.2)`, others`select pg_sleep(0.2)`])
    const database = await openDatabase(bouncer.url, 1)
    const pool = database.pool(MANY, silent)
    /** How many connections the pool has when many statements run. */
    const most = async () => {
      const run = () => pool.unsafe('select pg_sleep(0.05)', [], { prepare: false })
      await Promise.all(Array.from({ length: MANY.size }, run))
      return pool.stats().idle
    }
    // One server belongs to the watchdog.
    expect(await most()).toBe(FEW - 3)
    await others.end()
    await until('there are more', async () => (await most()) === FEW - 1, 70_000)
    await pool.close()
    await database.close()
    await bouncer.stop()
    await direct.close()
  },
)
