import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { axport, cleanUp, emptyFolder } from '../support/executable.ts'
import { useTestDatabase } from '../support/hooks.ts'
import { staleRecords } from '../support/import.ts'
import { exported } from '../support/platform-example.ts'
import { holds } from '../support/property.ts'
import { until } from '../support/until.ts'
import { FILE, recordOfOther } from './support/month-another.ts'
import { MonthFeed } from './support/month-feed.ts'
import { type Exported, recordsOfExport, recordsOfPlatform } from './support/month-oracle.ts'
import { change, MonthPlatform } from './support/month-platform.ts'

setDefaultTimeout(300_000)

/** Midnight is at 5 or 6 o'clock UTC: days in UTC would be wrong. */
const ZONE = 'America/Chicago'

const database = useTestDatabase()
const fresh = useTestDatabase()
let platform: MonthPlatform
let feed: MonthFeed

beforeAll(async () => {
  platform = await MonthPlatform.start()
  feed = new MonthFeed(platform, database)
  for (const { url } of [database, fresh]) await succeed(url, 'migrate', '--time-zone', ZONE)
})
afterAll(async () => {
  await cleanUp()
  await platform.stop()
})

async function succeed(url: string, ...args: string[]): Promise<void> {
  expect(await axport(args, { env: { DATABASE_URL: url } })).toMatchObject({ code: 0 })
}

/** A record of an organization that the platform does not know, as the files and the SQL of this test leave it. */
let others: Exported[] = []

/** The export is the platform, but for what needs a person without a name; and it has the records of others. */
async function expectPlatform(day: number): Promise<void> {
  const expected = [...(await recordsOfPlatform(platform.sql, ZONE)), ...others]
  expect({ day, records: await recordsOfExport(database.sql) }).toEqual({ day, records: expected })
}

/** Removes three tenths of the observations softly, and expects a round that loads nothing. Returns the option that allows it. */
async function removeMany(): Promise<[option: string, number: string]> {
  const before = await exported(database.sql)
  await platform.sql`update rubrics set label = label || '!'`
  await platform.sql`
    update observations set removed_at = '2026-11-01' where removed_at is null and observation_no / 10 % 10 in (1, 4, 8)`
  const { code, report } = await feed.round()
  expect({ code, report }).toMatchObject({ code: 1, report: { loaded: false } })
  expect(report.error).toMatch(/would remove \d+ of \d+ assessments\b.*, more than 10%.* --max-removed \d+/)
  expect(await exported(database.sql)).toEqual(before)
  return ['--max-removed', (/--max-removed (\d+)/.exec(report.error ?? '') as RegExpExecArray)[1] as string]
}

/** A person without a name, with observations; the feed goes on while the row is bad. */
let nameless: Awaited<ReturnType<MonthPlatform['addNameless']>>
const correct = () => platform.sql`
  update people set given = 'Mended', family = 'Late' where person_no = ${nameless.person}`
const touch = (label: string) => platform.sql`
  update stages set label = ${label} where observation_no = any (${nameless.observations})`

/** What happens on a day beside its random changes, before the feed loads the day. */
const EVENTS: Record<number, () => Promise<unknown>> = {
  4: async () => {
    nameless = await platform.addNameless()
  },
  5: async () => {
    await touch('newer')
    await feed.startService()
  },
  6: () => platform.sql`
    update observations set teacher_no = 1 where observation_no = ${nameless.observations[3] as number}`,
  7: async () => {
    await platform.sql`update districts set title = 'Last on the old primary' where district_no = 1`
    await platform.failOver()
    await platform.sql`update districts set title = 'First on the new primary' where district_no = 2`
    feed.pointToPlatform()
  },
  8: () => touch('newer than newer'),
  9: async () => {
    const rounds = (await feed.endService()).filter(({ loaded }) => loaded)
    expect(rounds.length).toBeGreaterThanOrEqual(4)
    for (const { since, rejected } of rounds) {
      expect(since).not.toBe('-infinity')
      expect(rejected).toBeGreaterThan(0)
    }
    await removeMany()
    await platform.sql`update observations set removed_at = null where removed_at = '2026-11-01'`
  },
  11: () => correct(),
  13: async () => {
    const file = join(emptyFolder(), 'others.ndjson')
    writeFileSync(file, FILE)
    await succeed(database.url, 'import', file)
    others = [recordOfOther('Ana Other')]
    await platform.sql`update people set family = 'By platform' where person_no = 7`
    await platform.sql`update observations set district_no = 2 where observation_no = 10`
  },
  15: async () => {
    await platform.sql`update districts set title = 'Of the platform' where district_no = 3`
    const { begun } = await database.sql.begin(async writer => {
      await writer`update organizations set name = 'Of SQL' where id = 3`
      await writer`update users set name = 'Ana of SQL' where id = 900`
      const begun = feed.round()
      await until('the round waits for the writer', async () => {
        const { count } = await database.sql`
          select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
        return count > 0
      })
      return { begun }
    })
    expect((await begun).report).toMatchObject({ loaded: true })
    others = [recordOfOther('Ana of SQL')]
  },
  18: async () => {
    nameless = await platform.addNameless()
  },
  21: async () => {
    await platform.sql`alter table people rename column mail to email`
    await touch('after the change of the schema')
    const before = await exported(database.sql)
    const { code, stderr } = await feed.round()
    expect(code).toBe(1)
    expect(stderr).toStartWith(
      'axport: users.sql line 7: column "mail" does not exist (SQLSTATE 42703): correct',
    )
    expect(await exported(database.sql)).toEqual(before)
    feed.replaceInQuery('users.sql', 'mail as email', 'email')
    const { report } = await feed.round()
    expect(report).toMatchObject({ loaded: true, since: '-infinity' })
    expect(report.notes).toContain(
      'all was read: users.sql has changed since the position of the feed was stored',
    )
  },
  22: async () => {
    const allowed = await removeMany()
    expect((await feed.round(...allowed)).report).toMatchObject({ loaded: true })
  },
  24: () => correct(),
}

/** Writes over rows of the feed by SQL. The platform does not change them again, so no usual round gives them. */
async function writeOver(): Promise<void> {
  const { sql } = database
  await sql`update users set name = 'Of SQL' where id <= 12`
  await sql`update assessments set certified_at = certified_at - interval '40 days' where id % 7 = 0`
  await sql`delete from assessments where id in (select min(id) from assessments)`
  await sql`
    delete from assessment_parts where id in (
      select max(id) from assessment_parts where id <> assessment_id and position = 2)`
}

/** Compares all, and removes what the platform does not have: the other organization, which is more than a tenth. */
async function compareAll(): Promise<void> {
  const { report } = await feed.round('--sync')
  const [, number = ''] = /--max-removed (\d+)/.exec(report.error ?? '') ?? []
  expect((await feed.round('--sync', '--max-removed', number)).report).toMatchObject({ loaded: true })
  others = []
}

async function month(days: Parameters<MonthPlatform['change']>[0][][]): Promise<void> {
  for (const [index, changes] of days.entries()) {
    const day = index + 1
    for (const change of changes) await platform.change(change)
    await EVENTS[day]?.()
    await feed.day()
    await expectPlatform(day)
  }
  expect(await database.sql`select from feeds where left_out > 0`).toBeEmpty()

  await writeOver()
  expect((await feed.round('--full')).report).toMatchObject({ loaded: true })
  await expectPlatform(31)
  await compareAll()
  await expectPlatform(32)
  expect((await feed.roundInto(fresh.url)).report).toMatchObject({ loaded: true, rejected: 0 })
  expect(await exported(database.sql)).toEqual(await exported(fresh.sql))
  expect(await staleRecords(database.sql)).toBeEmpty()
}

test('after each day of a month with bad rows, a mass deletion, a failover, a schema change, files and SQL, the export is the platform', async () => {
  const day = fc.array(change, { minLength: 4, maxLength: 10, size: 'max' })
  await holds(fc.asyncProperty(fc.array(day, { minLength: 30, maxLength: 30 }), month), {
    runs: 1,
    shrink: false,
  })
})
