// Commands that are killed by SIGKILL at chosen points of their work.
import { afterAll, afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import postgres, { type Sql } from 'postgres'
import { cleanUp, emptyFolder, start, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { ndjsonOf, organization, product, range } from '../support/fixtures.ts'
import { staleRecords } from '../support/import.ts'
import { succeed } from '../support/operator.ts'
import { type Platform, viewsOf } from '../support/oracle-records.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'
import { store } from '../support/stored-platform.ts'
import { until } from '../support/until.ts'
import { withoutPerson } from '../support/without-person.ts'
import { withoutTriggers } from '../support/without-triggers.ts'
import { untilIdle } from '../system/chaos/support/idle.ts'
import { smallPlatform } from '../system/support/small-platform.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)
afterAll(cleanUp)

let database: TestDatabase
let locker: Sql
beforeEach(async () => {
  database = await openTestDatabase()
  locker = postgres(database.url, { max: 1, onnotice: () => {} })
})
afterEach(async () => {
  await locker.end()
  await database.close()
})

/** Runs `axport ARGS` until it waits for a lock that another session has taken, and kills it there. */
async function killAt(lock: string, ...args: string[]): Promise<void> {
  await locker.begin(async sql => {
    await sql.unsafe(lock)
    const running = await start(args, { env: { DATABASE_URL: database.url } })
    await until('it waits for the lock', async () => {
      const waiting = await database.sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      return waiting.count > 0
    })
    expect(running.exitCode()).toBeUndefined()
    running.signal('SIGKILL')
    await running.finished
  })
  await untilIdle(database.sql)
}

/** The records of the export, as they are sent. */
async function exported(): Promise<string[]> {
  const rows = await database.sql<{ document: string }[]>`select document from export_records order by id`
  return rows.map(({ document }) => document)
}

const recordsOf = (platform: Platform) => viewsOf(platform).map(({ text }) => text)

const PERSON = 103

test.each([
  ['before it has changed anything', 'lock table erasures in share mode', false],
  ['while it removes the person', 'lock table export_version in share mode', false],
  ['after its commit, while it vacuums', 'lock table users in share update exclusive mode', true],
])(
  'an erasure that is killed %s leaves all or nothing, and the next one completes',
  async (_, lock, isDone) => {
    const platform = smallPlatform()
    await store(database.sql, platform)
    const after = recordsOf(withoutPerson(platform, PERSON))
    await killAt(lock, 'erase', String(PERSON), '--yes')
    expect(await exported()).toEqual(isDone ? after : recordsOf(platform))
    expect(await database.sql`select from erasures`).toHaveLength(isDone ? 1 : 0)
    expect(await staleRecords(database.sql)).toEqual([])
    await succeed(database.url, 'erase', String(PERSON), '--yes')
    expect(await exported()).toEqual(after)
    expect(await database.sql`select from erasures`).toHaveLength(1)
    expect(await staleRecords(database.sql)).toEqual([])
  },
)

test('an import that is killed while it gathers statistics has loaded all, and the next one gathers them', async () => {
  const file = join(emptyFolder(), 'products.ndjson')
  writeFileSync(file, ndjsonOf([organization(1), ...range(30, at => product(at + 1))]))
  await killAt('lock table organizations in share update exclusive mode', 'import', file)
  const expected = () =>
    database.sql`select reltuples::integer as rows from pg_class where oid = 'products'::regclass`
  expect((await database.sql`select from products`).count).toBe(30)
  expect(await expected()).toMatchObject([{ rows: -1 }])
  await succeed(database.url, 'import', file)
  expect(await expected()).toMatchObject([{ rows: 30 }])
})

test('a refresh that is killed has whole batches, and the next one completes', async () => {
  const platform = smallPlatform()
  // More assessments than a batch has: 2,000.
  const simple = platform.assessments.filter(({ parts }) => parts.length === 1)
  const assessments = Array.from({ length: 11 }, (_, copy) =>
    simple.map(({ parts, ...row }) => {
      const id = row.id + 1000 * copy
      return { ...row, id, parts: parts.map(part => ({ ...part, id })) }
    }),
  ).flat()
  expect(assessments.length).toBe(2200)
  const large = { ...platform, assessments }
  await store(database.sql, large)
  await withoutTriggers(database.sql, `update users set name = name || ' renamed'`)
  const renamed = { ...large, users: large.users.map(user => ({ ...user, name: `${user.name} renamed` })) }
  const [before, after] = [recordsOf(large), recordsOf(renamed)]
  expect(await exported()).toEqual(before)
  const last = assessments.at(-1)?.id
  await killAt(`select from export_records where id = ${last} for update`, 'refresh')
  expect(await exported()).toEqual([...after.slice(0, 2000), ...before.slice(2000)])
  await succeed(database.url, 'refresh')
  expect(await exported()).toEqual(after)
  expect(await staleRecords(database.sql)).toEqual([])
})
