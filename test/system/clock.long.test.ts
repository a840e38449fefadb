import { afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Sql } from 'postgres'
import { migrate } from '../../src/postgres/migrate.ts'
import { embeddedWorld } from '../support/embedded-world.ts'
import { axport, cleanUp, serve } from '../support/executable.ts'
import { newToken, postToken, successful, tryList } from '../support/http.ts'
import type { Platform } from '../support/oracle-records.ts'
import { startCluster } from '../support/own-cluster.ts'
import { requires } from '../support/requires.ts'
import { BACKENDS, type Backend, load } from '../support/service.ts'
import { expectPage, expectServed } from './support/expect-served.ts'
import { FAKETIME, fakedClock } from './support/faked-clock.ts'
import { importing, integrate, on } from './support/operations.ts'
import { linesOf, smallPlatform } from './support/small-platform.ts'

setDefaultTimeout(180_000)

const HOUR = 3600
const DAY = 24 * HOUR
/** Seconds that a test may take between two looks at the clock. */
const SLACK = 120

const FIRST = smallPlatform(0)

const endings: (() => Promise<void>)[] = []
afterEach(async () => {
  await cleanUp()
  for (const end of endings.splice(0).reverse()) await end()
})

requires(FAKETIME).describe('a database whose clock is set', () => {
  describe.each(BACKENDS)('(%s)', backend => {
    test('lets a token live for two hours of its clock, wherever that was when the token was issued', async () => {
      const { clock, services, credentials } = await begin(backend)
      const [{ url }] = services
      const status = async (token: string) => (await tryList(url, token)).status
      const issuedAt = async (seconds: number) => {
        clock.set(seconds)
        const answer = successful(await postToken(url, credentials)) as {
          access_token: string
          created_at: number
        }
        expect(Math.abs(answer.created_at - Date.now() / 1000 - seconds)).toBeLessThan(SLACK)
        return answer.access_token
      }
      const [behind, ahead] = [await issuedAt(-HOUR), await issuedAt(HOUR)]
      clock.set(-DAY)
      expect([await status(behind), await status(ahead)]).toEqual([200, 200])
      clock.set(HOUR - SLACK)
      expect([await status(behind), await status(ahead)]).toEqual([200, 200])
      clock.set(HOUR + SLACK)
      expect([await status(behind), await status(ahead)]).toEqual([401, 200])
      clock.set(3 * HOUR - SLACK)
      expect([await status(behind), await status(ahead)]).toEqual([401, 200])
      clock.set(3 * HOUR + SLACK)
      expect([await status(behind), await status(ahead)]).toEqual([401, 401])
      clock.set(0)
      expect(await status(await issuedAt(0))).toBe(200)
    })

    test('lets a rotated secret live for its grace', async () => {
      const { clock, services, url, credentials } = await begin(backend)
      const status = async (secret: string) =>
        (await postToken(services[0].url, { ...credentials, clientSecret: secret })).status
      const { code, stdout } = await axport(
        ['integration', 'rotate', credentials.clientId, '--grace', '1h', '--json'],
        {
          env: { DATABASE_URL: url },
        },
      )
      expect(code).toBe(0)
      const { client_secret: fresh } = JSON.parse(stdout) as { client_secret: string }
      const old = credentials.clientSecret
      clock.set(-DAY)
      expect([await status(old), await status(fresh)]).toEqual([200, 200])
      clock.set(HOUR - SLACK)
      expect([await status(old), await status(fresh)]).toEqual([200, 200])
      clock.set(HOUR + SLACK)
      expect([await status(old), await status(fresh)]).toEqual([401, 200])
    })

    test('gives every change a position above all before, and no service a page of former data', async () => {
      const { clock, services, url, credentials } = await begin(backend)
      let last = 0n
      for (const [shift, seconds] of [HOUR, -DAY, 0, -HOUR, DAY / 12, 0].entries()) {
        clock.set(seconds)
        const platform = smallPlatform(shift)
        const { code, stderr } = await importing(url, linesOf(platform))
        expect([code, stderr]).toEqual([0, expect.any(String)])
        const position = await positionOf(url)
        expect(position).toBeGreaterThan(last)
        last = position
        const token = await newToken(services[0].url, credentials)
        await expectServed(services[0].url, token, platform)
        // This one remembers pages of two changes ago.
        if (shift % 2 === 0) for (const { url } of services) await expectPage(url, token, platform)
      }
    })
  })

  test('replaces what was remembered, when an older state is restored while the clock is behind', async () => {
    const { clock, services, url, credentials } = await begin('postgres')
    const token = await newToken(services[0].url, credentials)
    clock.set(-HOUR)
    const restore = await on(url, backup)
    await on(url, sql => sql`delete from assessments where id > 1200`)
    await expectServed(
      services[0].url,
      token,
      without(FIRST, id => id > 1200),
    )
    await on(url, restore)
    await on(url, sql => sql`delete from assessments where id <= 1100`)
    await expectServed(
      services[0].url,
      token,
      without(FIRST, id => id <= 1100),
    )
  })
})

/** Two services (one on the embedded database) on FIRST, in a database whose clock the test sets. */
async function begin(backend: Backend) {
  const clock = await fakedClock()
  endings.push(clock.remove)
  const { url, env } = backend === 'postgres' ? await onPostgres() : await inFolder()
  const credentials = await integrate(url)
  const first = await serve(env)
  const others = backend === 'postgres' ? [await serve(env)] : []
  return { clock, url, credentials, services: [first, ...others] as const }

  async function onPostgres() {
    const cluster = await startCluster({ binaries: await clock.postgres() })
    endings.push(() => cluster.stop())
    const url = cluster.url()
    await on(url, async sql => {
      await migrate(sql)
      await load(sql, linesOf(FIRST))
    })
    return { url, env: { DATABASE_URL: url } }
  }

  async function inFolder() {
    const url = `embedded:${await embeddedWorld(linesOf(FIRST))}`
    return { url, env: { DATABASE_URL: url, ...clock.env } }
  }
}

/** Copies the data; the function puts them back as a restore does: without triggers, log and all. */
async function backup(sql: Sql): Promise<(sql: Sql) => Promise<void>> {
  const tables = ['export_state', 'export_changes', 'export_records', 'assessments', 'assessment_parts']
  for (const table of tables) await sql.unsafe(`create table before_${table} as table ${table}`)
  return async sql => {
    await sql.begin(async sql => {
      await sql.unsafe('set local session_replication_role = replica')
      for (const table of tables)
        await sql.unsafe(
          `delete from ${table}; insert into ${table} overriding system value table before_${table}`,
        )
    })
  }
}

function without(platform: Platform, isGone: (id: number) => boolean): Platform {
  return { ...platform, assessments: platform.assessments.filter(({ id }) => !isGone(id)) }
}

/** The position of the newest change in the log. */
async function positionOf(url: string): Promise<bigint> {
  const [row] = await on(
    url,
    sql => sql<{ position: string }[]>`select max(position) as position from export_changes`,
  )
  return BigInt(row?.position ?? 0)
}
