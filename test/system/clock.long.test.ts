import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Sql } from 'postgres'
import { verdictOn } from '../../src/database/failures.ts'
import { migrate } from '../../src/database/migrate.ts'
import { UncertainFailure } from '../../src/errors.ts'
import { cleanUp, serve } from '../support/executable.ts'
import { newToken, postToken, successful, tryList } from '../support/http.ts'
import { versionOf } from '../support/import.ts'
import { succeed } from '../support/operator.ts'
import type { Platform } from '../support/oracle-records.ts'
import { startCluster } from '../support/own-cluster.ts'
import { requires } from '../support/requires.ts'
import { load } from '../support/service.ts'
import { expectPage, expectServed } from './support/expect-served.ts'
import { FAKETIME, type FakedClock, fakedClock } from './support/faked-clock.ts'
import { integrate, on } from './support/operations.ts'
import { linesOf, smallPlatform } from './support/small-platform.ts'

setDefaultTimeout(180_000)

const HOUR = 3600
const DAY = 24 * HOUR
/** Seconds that may pass between two steps of a test. */
const SLACK = 120

const FIRST = smallPlatform(0)

requires(FAKETIME).describe('a database whose clock is set forward and back', () => {
  const endings: (() => Promise<void>)[] = []
  let clock: FakedClock
  let url: string
  /** Two services on the database. */
  let services: { url: string }[]
  let baseUrl: string

  beforeAll(async () => {
    clock = await fakedClock()
    endings.push(clock.remove)
    const opened = await openPostgres(clock, endings)
    url = opened.DATABASE_URL
    services = [await serve(opened), await serve(opened)]
    baseUrl = (services[0] as { url: string }).url
  })
  afterAll(async () => {
    await cleanUp()
    for (const end of endings.reverse()) await end()
  })

  test('ends a token two hours after its issue by the clock of the database', async () => {
    const credentials = await integrate(url)
    const issuedAt = async (seconds: number) => {
      clock.set(seconds)
      const answer = successful(await postToken(baseUrl, credentials)) as {
        access_token: string
        created_at: number
      }
      expect(Math.abs(answer.created_at - Date.now() / 1000 - seconds)).toBeLessThan(SLACK)
      return answer.access_token
    }
    // In this order, because at the later time the earlier token could be purged.
    const [ahead, behind] = [await issuedAt(HOUR), await issuedAt(-HOUR)]
    const statusesAt = async (seconds: number) => {
      clock.set(seconds)
      return [(await tryList(baseUrl, behind)).status, (await tryList(baseUrl, ahead)).status]
    }
    expect(await statusesAt(-DAY)).toEqual([200, 200])
    expect(await statusesAt(HOUR - SLACK)).toEqual([200, 200])
    expect(await statusesAt(HOUR + SLACK)).toEqual([401, 200])
    expect(await statusesAt(3 * HOUR - SLACK)).toEqual([401, 200])
    expect(await statusesAt(3 * HOUR + SLACK)).toEqual([401, 401])
    expect((await tryList(baseUrl, await issuedAt(0))).status).toBe(200)
  })

  test('ends a rotated secret when its grace is over by the clock of the database', async () => {
    clock.set(0)
    const old = await integrate(url)
    const rotated = await succeed(url, 'integration', 'rotate', old.clientId, '--grace', '1h', '--json')
    const statusesAt = async (seconds: number) => {
      clock.set(seconds)
      return [(await postToken(baseUrl, old)).status, (await postToken(baseUrl, JSON.parse(rotated))).status]
    }
    expect(await statusesAt(-DAY)).toEqual([200, 200])
    expect(await statusesAt(HOUR - SLACK)).toEqual([200, 200])
    expect(await statusesAt(HOUR + SLACK)).toEqual([401, 200])
  })

  test('gives every change another version than all earlier ones, so that no service shows a page of former data', async () => {
    const credentials = await integrate(url)
    const versions = new Set<string | undefined>()
    // All steps are shorter than a token's two hours, because libfaketime sometimes shows a thread the machine's
    // time.
    for (const [shift, seconds] of [HOUR, -HOUR, 0, -HOUR].entries()) {
      clock.set(seconds)
      const platform = smallPlatform(shift + 1)
      await onJumpingClock(url, sql => load(sql, linesOf(platform)))
      versions.add(await on(url, versionOf))
      expect(versions.size).toBe(shift + 1)
      const token = await newToken(baseUrl, credentials)
      await expectServed(baseUrl, token, platform)
      // A service that gets requests after every second change only has page memory from two changes ago.
      if (shift % 2 === 0) for (const { url } of services) await expectPage(url, token, platform)
    }
  })

  test('makes page memory invalid when an older state is restored while the clock is set back', async () => {
    const change = (work: (sql: Sql) => Promise<unknown>) => onJumpingClock(url, work)
    await change(sql => load(sql, linesOf(FIRST)))
    const token = await newToken(baseUrl, await integrate(url))
    clock.set(-HOUR)
    await change(backUp)
    await change(sql => sql`delete from assessments where id > 1200`)
    const rest = without(FIRST, id => id > 1200)
    await expectServed(baseUrl, token, rest)
    await change(restore)
    await change(sql => sql`delete from assessments where id <= 1100`)
    const other = without(FIRST, id => id <= 1100)
    await expectServed(baseUrl, token, other)
  })
})

/**
 * Does work that may be done twice. A timer of the server may fire when its clock jumps, and end the connection: then the
 * work is done again.
 */
async function onJumpingClock(url: string, work: (sql: Sql) => Promise<unknown>): Promise<void> {
  await on(url, work).catch(error => {
    if (verdictOn(error) !== 'cut' && !(error instanceof UncertainFailure)) throw error
    return on(url, work)
  })
}

/** Starts a Postgres under the clock, with FIRST in it. Returns the environment of its services. */
async function openPostgres(clock: FakedClock, endings: (() => Promise<void>)[]) {
  const cluster = await startCluster({ programs: await clock.postgres() })
  endings.push(async () => {
    // A signal that a server handles can hang it: the handler waits for a lock that libfaketime holds already.
    process.kill(cluster.pid, 'SIGKILL')
    await cluster.stop()
  })
  await on(cluster.url(), async sql => {
    await migrate(sql)
    await load(sql, linesOf(FIRST))
  })
  return { DATABASE_URL: cluster.url() }
}

const TABLES = [
  'export_state',
  'export_version',
  'export_records',
  'export_counts',
  'assessments',
  'assessment_parts',
]

/** Copies the data, in one transaction. */
async function backUp(sql: Sql): Promise<void> {
  await sql.unsafe(TABLES.map(table => `create table before_${table} as table ${table}`).join(';'))
}

/** Restores the copies in one transaction, as a dump does: without triggers, and with the version. */
async function restore(sql: Sql): Promise<void> {
  const tables = TABLES.map(table => `delete from ${table}; insert into ${table} table before_${table}`)
  await sql.unsafe(['set local session_replication_role = replica', ...tables].join(';'))
}

function without(platform: Platform, isGone: (id: number) => boolean): Platform {
  return { ...platform, assessments: platform.assessments.filter(({ id }) => !isGone(id)) }
}
