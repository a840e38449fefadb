import { afterAll, expect, setDefaultTimeout } from 'bun:test'
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { cleanUp } from '../support/executable.ts'
import { program, requires } from '../support/requires.ts'
import { FAKETIME } from './support/faked-clock.ts'
import { Quarter } from './support/quarter.ts'
import { DAY } from './support/quarter-series.ts'

setDefaultTimeout(300_000)

const DAYS = 90
/** The hour of the backup, the comparison and the partner. */
const NIGHT = 2.5

let quarter: Quarter
afterAll(async () => {
  await cleanUp()
  await quarter?.stop()
})

const on = (database: string, statement: string) =>
  quarter.sql(database, sql => sql.unsafe(statement).simple())
/** Removes 7 or 8 % of the observations softly, others for each turn. */
const remove = (turn: number) => () =>
  on('platform', `update observations set removed_at = now() where observation_no / 20 % 14 = ${turn}`)
const move = (from: string, to: string) => () =>
  renameSync(join(quarter.queries, from), join(quarter.queries, to))

/** What happens at an hour of a day, and a line of the round of that minute. A slow machine adds lines of progress. */
interface Event {
  day: number
  hour: number
  event(): unknown
  says: RegExp
}
const timeOf = ({ day, hour }: Event) => day * 24 + hour
const LOADED = /^loaded \d+ rows?\n/m
const WITHOUT_USERS =
  /^axport: nothing was loaded: users\.sql is missing, and the feed platform has read it before: put it back/m

const EVENTS: Event[] = [
  {
    day: 10,
    hour: 8,
    event: () => on('platform', 'alter table people enable row level security'),
    says: /^axport: users\.sql: .*: a policy hides rows from the role in the URL of the platform: alter role … bypassrls/m,
  },
  { day: 10, hour: 13, event: () => on('platform', 'alter role axport_reads bypassrls'), says: LOADED },
  { day: 17, hour: 8, event: move('users.sql', 'users.sql.old'), says: WITHOUT_USERS },
  { day: 18, hour: 9, event: move('users.sql.old', 'users.sql'), says: LOADED },
  { day: 23, hour: 20, event: remove(1), says: /^assessments +0 +0 +\d+ +1[234]$/m },
  { day: 24, hour: 8, event: remove(3), says: /^assessments +0 +0 +\d+ +1[234]$/m },
  { day: 24, hour: 14, event: remove(5), says: /^assessments +0 +0 +\d+ +1[234]$/m },
  {
    day: 30,
    hour: 8,
    event: () => on('postgres', 'alter database platform rename to moved'),
    says: /^axport: cannot reach the platform: it has no database of the name in the URL of the platform/m,
  },
  {
    day: 30,
    hour: 13,
    event: () => quarter.pointTo('moved'),
    says: /^note: all was read: the platform is another database now$/m,
  },
  {
    day: 40,
    hour: 9,
    event: async () =>
      expect((await quarter.check()).stdout).toMatch(/^certificate: .* ends on 2027-02-15, within 14 days$/m),
    says: LOADED,
  },
  { day: 46, hour: 9, event: () => quarter.certify(200 * DAY), says: LOADED },
  { day: 52, hour: 0, event: () => on('axport', 'alter role axport_backup nologin'), says: LOADED },
  { day: 53, hour: 9, event: () => on('axport', 'alter role axport_backup login'), says: LOADED },
]

const NIGHTS: Event[] = Array.from({ length: DAYS }, (_, day) => ({
  day,
  hour: NIGHT,
  event: async () => {
    if (day === 52 || day === 53) expect(await quarter.backUp()).toContain('is not permitted to log in')
    else expect(await quarter.backUp()).toBe('')
    if (day < 61 || day > 64) await quarter.ask()
  },
  says: day === 18 ? WITHOUT_USERS : LOADED,
}))

/** The alerts of each day beside the one that always fires. Another day is quiet. */
const ALERTS: Record<string, number[]> = {
  AxportFeedStopped: [10, 17, 18, 30],
  // The night after the next one compares again.
  AxportSyncMissing: [18, 19],
  // Not on the day of the first 7 %. It fires until a day after the last.
  AxportRowsRemoved: [24, 25],
  AxportCertificateExpires: [31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45],
  AxportCertificateEnded: [45, 46],
  // Until the next backup has ended, in the night.
  AxportBackupMissing: [52, 53, 54],
  AxportIntegrationSilent: [61, 62, 63, 64, 65],
}

requires(FAKETIME, program('promtool', 'prometheus')).test(
  'in a quarter, an alert or a line names each failure that makes no noise, and no alert fires on a quiet day',
  async () => {
    quarter = await Quarter.start()
    await quarter.certify(45 * DAY + 12 * 60)
    await quarter.round()
    await quarter.scrape(0)
    const round = async (minute: number, event: () => unknown, ...options: string[]) => {
      quarter.setClock(minute)
      await event()
      const { stdout, stderr } = await quarter.round(...options)
      await quarter.scrape(minute)
      return stderr + stdout
    }
    for (const { day, hour, event, says } of [...NIGHTS, ...EVENTS].sort((a, b) => timeOf(a) - timeOf(b))) {
      const minute = day * DAY + hour * 60
      if (hour === NIGHT) expect(await round(minute, event, '--sync')).toMatch(says)
      else {
        // The minutes until the event were taken for loaded. Without this round, its times would go back to those of the night.
        await round(minute - 1, () => {})
        expect(await round(minute, event)).toMatch(says)
      }
    }
    const expected = Array.from({ length: DAYS }, (_, day) => [
      'AxportWatchdog',
      ...Object.keys(ALERTS).filter(alert => ALERTS[alert]?.includes(day)),
    ])
    expect(await quarter.series.evaluate(expected)).toBe('SUCCESS')
  },
)
