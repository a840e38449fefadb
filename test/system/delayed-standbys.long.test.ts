import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import type { Sql } from 'postgres'
import { openDatabase } from '../../src/postgres/database.ts'
import type { ServerView } from '../../src/postgres/standby/standbys.ts'
import { sha256 } from '../../src/random.ts'
import type { OwnCluster } from '../support/cluster.ts'
import { axport, cleanUp } from '../support/executable.ts'
import { assessment, educator, type Line } from '../support/fixtures.ts'
import { get, LIST, list, tryList } from '../support/http.ts'
import { type Served, serveWith } from '../support/served.ts'
import { load } from '../support/service.ts'
import { until } from '../support/until.ts'
import { caughtUp, nameOf, on, type Replicated, startReplicated, tokenOf } from './support/replicated.ts'

setDefaultTimeout(120_000)

let all: Replicated
let service: Served
/** The id of the newest record. They sort behind all others. */
let newest = 20_000

beforeAll(async () => {
  all = await startReplicated()
  service = await serveWith([], { ...all.env, ADMIN_PORT: '0', READ_LAG: '3600' })
})
afterAll(async () => {
  await cleanUp()
  await all?.stop()
})
beforeEach(async () => {
  await delay(all.first, 0)
  await delay(all.second, 0)
  await caughtUp(all)
  // The impostor always has a reason.
  const reasons = async () => {
    const { servers } = (await (await fetch(`${service.admin}/ready`)).json()) as { servers: ServerView[] }
    return servers.filter(({ why }) => why !== undefined)
  }
  await until(
    'the primary is reached and both standbys are read from',
    async () => (await reasons()).length === 1,
  )
})

/** A delay that the test ends. */
const LONG_MS = 600_000

/** Lets a standby replay each commit this long after it was made. */
async function delay(standby: OwnCluster, ms: number): Promise<void> {
  await onStandby(standby, sql => sql.unsafe(`alter system set recovery_min_apply_delay = '${ms}ms'`))
  await onStandby(standby, sql => sql`select pg_reload_conf()`)
}

/** As on(). Replay cancels statements that are in its way (40001): they are run again. */
async function onStandby<Result>(
  standby: OwnCluster,
  work: (sql: Sql) => PromiseLike<Result>,
): Promise<Result> {
  for (;;) {
    try {
      return await on(standby, work)
    } catch (error) {
      if ((error as { code?: string }).code !== '40001') throw error
    }
  }
}

/** Imports lines at the primary. */
async function importLines(...lines: Line[]): Promise<void> {
  const { sql, close } = await openDatabase(all.primary.url(), 1)
  await load(sql, lines)
  await close()
}

/** Adds a record at the primary. */
const write = () => importLines(assessment(++newest))

async function metricsOf(pattern: string): Promise<number> {
  const text = await (await fetch(`${service.admin}/metrics`)).text()
  return Number(new RegExp(`^axport_${pattern} (\\S+)$`, 'm').exec(text)?.[1])
}
const metricOf = (name: string, server: OwnCluster) => metricsOf(`${name}\\{server="${nameOf(server)}"\\}`)
const olderData = () => metricsOf('reads_moved_total\\{reason="older_data"\\}')

const countOf = async (token: string) => (await list(service.url, token, 'page=1')).meta.count

test('a walk that began on the primary meets no older state at the standby, on pages and single records', async () => {
  await delay(all.first, 1000)
  const [before, readsBefore] = [await olderData(), await metricOf('reads_total', all.first)]
  const token = await tokenOf(service.url, all.credentials, all.first, all)
  const faults = new Set<string>()
  let isOver = false
  const walk = async () => {
    for (let seen = 0; !isOver; ) {
      const count = await countOf(token)
      if (count < seen) faults.add(`a count of ${count} after ${seen}`)
      seen = Math.max(seen, count)
      const { data } = await list(service.url, token, `page=1&offset=${seen - 1}`)
      const { status } = await get(service.url, token, `${LIST}/${data[0]?.id}`)
      if (status !== 200) faults.add(`${status} for a record of the list`)
      await Bun.sleep(20)
    }
  }
  const walking = walk()
  // The token reaches the standby before the later ones of these.
  for (let n = 0; n < 15; n++) {
    await write()
    await Bun.sleep(100)
  }
  await until('the standby answers', async () => (await metricOf('reads_total', all.first)) > readsBefore)
  isOver = true
  await walking
  expect([...faults]).toEqual([])
  expect(await olderData()).toBeGreaterThan(before)
})

test('when the standby of a walk goes, the next one does not answer with an older state', async () => {
  const token = await tokenOf(service.url, all.credentials, all.first, all)
  await caughtUp(all)
  await delay(all.second, LONG_MS)
  const count = (await countOf(token)) + 1
  await write()
  await until('the first standby has the record', async () => (await countOf(token)) === count)
  const before = await olderData()
  const reads = await metricOf('reads_total', all.second)
  await all.first.crash()
  const counts = new Set<number>()
  const isPastOld = async () => {
    counts.add(await countOf(token))
    return (await olderData()) > before
  }
  await until('the second standby has older data', isPastOld)
  await delay(all.second, 0)
  const hasAnswered = async () => {
    counts.add(await countOf(token))
    return (await metricOf('reads_total', all.second)) > reads
  }
  await until('the second standby answers', hasAnswered)
  expect([...counts]).toEqual([count])
  await all.first.restart()
})

test('while the primary is away, an older state is a 503 until a standby has replayed what the token has seen', async () => {
  const token = await tokenOf(service.url, all.credentials, all.first, all)
  await caughtUp(all)
  await delay(all.second, LONG_MS)
  const count = (await countOf(token)) + 1
  await write()
  await until('the first standby has the record', async () => (await countOf(token)) === count)
  const [{ at } = { at: '' }] = await onStandby(
    all.first,
    sql => sql<{ at: string }[]>`select pg_last_wal_replay_lsn()::text as at`,
  )
  const received = () =>
    onStandby(all.second, sql => sql`select where pg_last_wal_receive_lsn() >= ${at}::text::pg_lsn`)
  await until('the second standby has received it', async () => (await received()).length === 1)
  await all.first.crash()
  await all.primary.crash()
  expect((await tryList(service.url, token, 'page=1')).status).toBe(503)
  await delay(all.second, 0)
  const answer = await until('the second standby answers', async () => {
    const { status, body } = await tryList(service.url, token, 'page=1')
    return status === 200 && (body as { meta: { count: number } })
  })
  expect(answer.meta.count).toBe(count)
  await all.primary.restart()
  await all.first.restart()
})

test('while the primary is away, a token that the first standby has not replayed is answered by the second', async () => {
  await delay(all.first, LONG_MS)
  const token = await tokenOf(service.url, all.credentials, all.first, all)
  const isThere = () =>
    onStandby(all.second, sql => sql`select from access_tokens where digest = ${sha256(token)}`)
  await until('the second standby has the token', async () => (await isThere()).length === 1)
  await all.primary.crash()
  const isAnswered = async () => (await tryList(service.url, token, 'page=1')).status === 200
  await until('the second standby answers', isAnswered)
  await all.primary.restart()
})

test('an erasure names the standby that lags, which alone shows the person until it has replayed the erasure', async () => {
  const person = 601
  const record = 1000
  await importLines(educator(person), assessment(record, { user_id: person }))
  const late = await tokenOf(service.url, all.credentials, all.first, all)
  const early = await tokenOf(service.url, all.credentials, all.second, all)
  await caughtUp(all)
  // Its record is the first of all lists.
  const paths = [
    `${LIST}?page=1`,
    `${LIST}?page=1&sort=user_name&order=desc`,
    `${LIST}?filter[user_ids][]=${person}`,
    `${LIST}?filter[seids][]=S-${person}`,
    `${LIST}?filter[search]=Given${person}`,
    `${LIST}/${record}`,
  ]
  const shows = async (url: string, token: string) => {
    const answers = await Promise.all(paths.map(path => get(url, token, path)))
    return answers.map(({ text }) => text.includes(`Family${person}`))
  }
  const everywhere = paths.map(() => true)
  const nowhere = paths.map(() => false)
  expect([await shows(service.url, late), await shows(service.url, early)]).toEqual([everywhere, everywhere])

  await delay(all.first, LONG_MS)
  const env = {
    DATABASE_URL: all.primary.url(),
    DATABASE_READ_URL: all.env.DATABASE_READ_URL?.replace(`,${nameOf(all.impostor)}`, '') as string,
  }
  const erase = (wait: string) => axport(['erase', String(person), '--yes', '--wait', wait], { env })
  const { code, stdout, stderr } = await erase('2s')
  expect([code, stdout]).toEqual([75, expect.stringContaining(`${person} is erased\n`)])
  expect(stderr).toMatch(/ not replayed that yet: \S+ \(it is \d+ bytes behind\); wait until /)
  expect(stderr).toContain(`: ${nameOf(all.first)} (`)

  const onPrimary = await serveWith([], { DATABASE_URL: all.env.DATABASE_URL as string })
  expect(await shows(onPrimary.url, late)).toEqual(nowhere)
  for (let offset = 0, count = 1; offset < count; offset += 100) {
    const page = await list(onPrimary.url, late, `page=100&offset=${offset}`)
    expect(JSON.stringify(page)).not.toContain(`Family${person}`)
    count = page.meta.count
  }
  expect(await shows(service.url, late)).toEqual(everywhere)
  expect(await shows(service.url, early)).toEqual(nowhere)

  // The standby that lags is now the only one, also for the token that has seen the erasure.
  await all.second.crash()
  const before = await olderData()
  for (let times = 0; times < 3; times++) expect(await shows(service.url, early)).toEqual(nowhere)
  expect(await olderData()).toBeGreaterThan(before)
  expect(await shows(service.url, late)).toEqual(everywhere)
  await all.second.restart()

  await delay(all.first, 0)
  expect(await erase('60s')).toMatchObject({ code: 0, stderr: '' })
  const reads = await metricOf('reads_total', all.first)
  expect(await shows(service.url, late)).toEqual(nowhere)
  expect(await shows(service.url, early)).toEqual(nowhere)
  expect(await metricOf('reads_total', all.first)).toBeGreaterThan(reads)
})

test('after the primary was set back, standbys answer a token that had seen more', async () => {
  const token = await tokenOf(service.url, all.credentials, all.first, all)
  await caughtUp(all)
  await list(service.url, token)
  // As after a restore of an older dump: the log ends earlier.
  await on(all.primary, sql =>
    sql.begin(async tx => {
      await tx`delete from export_changes`
      await tx`insert into export_changes (position) overriding system value values (1)`
    }),
  )
  await caughtUp(all)
  const [before, primary] = [await olderData(), await metricsOf('reads_total\\{server="primary"\\}')]
  for (let n = 0; n < 5; n++) await list(service.url, token)
  expect(await olderData()).toBe(before + 1)
  expect(await metricsOf('reads_total\\{server="primary"\\}')).toBe(primary + 1)
})
