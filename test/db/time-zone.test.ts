import { beforeAll, describe, expect, test } from 'bun:test'
import { setTimeZone } from '../../src/database/time-zone.ts'
import { Failure } from '../../src/errors.ts'
import { useService } from '../support/hooks.ts'
import { list } from '../support/http.ts'
import { authorize, load } from '../support/service.ts'
import { thorough } from '../support/tier.ts'

/**
 * The rules of contract/list-dates.test.ts for zones and days of every kind, and the command that sets the
 * zone.
 */

interface Day {
  zone: string
  day: string
  before: string
  after: string
  /** The first instant of the day, and the first of the next day. */
  from: string
  to: string
  hours: number
}

/** Written by hand from the rules of the zones, so that no library confirms its own results. */
const DAYS: Day[] = [
  day('UTC', '2024-02-29', '2024-02-29T00:00', '2024-03-01T00:00', 24),
  day('America/New_York', '2024-03-10', '2024-03-10T05:00', '2024-03-11T04:00', 23),
  day('America/New_York', '2024-11-03', '2024-11-03T04:00', '2024-11-04T05:00', 25),
  day('Europe/Berlin', '2024-03-31', '2024-03-30T23:00', '2024-03-31T22:00', 23),
  day('Europe/Berlin', '2024-10-27', '2024-10-26T22:00', '2024-10-27T23:00', 25),
  day('Australia/Lord_Howe', '2024-04-07', '2024-04-06T13:00', '2024-04-07T13:30', 24.5),
  day('Pacific/Kiritimati', '2024-12-31', '2024-12-30T10:00', '2024-12-31T10:00', 24),
  day('Pacific/Niue', '2025-01-01', '2025-01-01T11:00', '2025-01-02T11:00', 24),
  day('Asia/Kathmandu', '2024-06-15', '2024-06-14T18:15', '2024-06-15T18:15', 24),
  // Days without a midnight: the clock jumps from 23:59:59 of the previous day to 01:00.
  day('America/Sao_Paulo', '2018-11-04', '2018-11-04T03:00', '2018-11-05T02:00', 23),
  day('Asia/Beirut', '2021-03-28', '2021-03-27T22:00', '2021-03-28T21:00', 23),
  // Days on which the hour before or after midnight occurs twice.
  day('America/Sao_Paulo', '2018-02-17', '2018-02-17T02:00', '2018-02-18T03:00', 25),
  day('America/Havana', '2020-11-01', '2020-11-01T04:00', '2020-11-02T05:00', 25),
]

/** One of a kind in `check`: a whole day, one without a midnight, and one with two. */
const ZONES = ['Australia/Lord_Howe', 'Asia/Beirut', 'America/Havana', 'America/Sao_Paulo']
const TRIED = thorough ? DAYS : DAYS.filter(({ zone }) => ZONES.includes(zone))

function day(zone: string, day: string, from: string, to: string, hours: number): Day {
  const beside = (days: number) => new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10)
  return { zone, day, before: beside(-1), after: beside(1), from: `${from}:00Z`, to: `${to}:00Z`, hours }
}

/** The last microsecond before an instant on a whole second. */
function justBefore(instant: string): string {
  return new Date(Date.parse(instant) - 1000).toISOString().replace('.000Z', '.999999Z')
}

describe('the time zone of the platform', () => {
  const service = useService()
  let token: string
  beforeAll(async () => {
    await service.sql`insert into organizations values (1, 'Lakeside')`
    await service.sql`insert into products values (1, 'Reading')`
    await service.sql`insert into users (id, name) values (1, 'Ana Ruiz'), (2, 'Pia Proctor')`
    token = (await authorize(service, [1], [1])).token
  })

  /** The records that match these filters. */
  async function listed(filters: Record<string, string> = {}) {
    const query = Object.entries(filters).map(([name, day]): [string, string] => [`filter[${name}]`, day])
    return (await list(service.baseUrl, token, query)).data
  }

  const ids = async (filters: Record<string, string>) => (await listed(filters)).map(record => record.id)

  /** The day of each record, and the days of its parts. */
  const days = async () =>
    (await listed()).map(({ certified_on, results }) => [
      certified_on,
      results.map(part => part.certified_on),
    ])

  /** Replaces all assessments by one for each instant (ids 1, 2, …), each with these parts. */
  async function complete(instants: string[], partInstants: string[]): Promise<void> {
    await service.sql`delete from assessments`
    await service.sql`
      insert into assessments
      select id, 1, 1, 1, at from unnest(${instants}::timestamptz[]) with ordinality as instant (at, id)`
    await service.sql`
      insert into assessment_parts
      select 100 * a.id + part.position, a.id, part.position, 'Part', part.at, 2
      from assessments a, unnest(${partInstants}::timestamptz[]) with ordinality as part (at, position)`
  }

  test.each(TRIED)(
    'the day $day in $zone has $hours hours to the microsecond, for records, parts and filters',
    async ({ zone, day, before, after, from, to, hours }) => {
      expect(Date.parse(to) - Date.parse(from)).toBe(hours * 3_600_000)
      await setTimeZone(service.sql, zone)
      const borders = [justBefore(from), from, justBefore(to), to]
      await complete(borders, borders)
      const shown = [before, day, day, after]
      expect(await days()).toEqual(shown.map(day => [day, shown]))
      expect(await ids({ start_date: day })).toEqual([2, 3, 4])
      expect(await ids({ end_date: day })).toEqual([1, 2, 3])
      expect(await ids({ start_date: day, end_date: day })).toEqual([2, 3])
    },
  )

  // If midnight occurs twice, Postgres takes the second. The day is right, and no answer shows the instant.
  test.each(TRIED.filter(({ zone }) => zone !== 'America/Havana'))(
    'an imported bare date $day in $zone is the first instant of that day, for an assessment and for a part',
    async ({ zone, day, before, from }) => {
      await service.sql`delete from assessments`
      await setTimeZone(service.sql, zone)
      const row = { type: 'assessment', user_id: 1, organization_id: 1, product_id: 1, certified_at: day }
      const parts = [{ id: 3, name: 'Part', certified_at: day, proctor_id: 2 }]
      await load(service.sql, [
        { ...row, id: 1, proctor_id: 2 },
        { ...row, id: 2, parts },
      ])
      expect(await days()).toEqual([1, 2].map(() => [day, [day]]))
      expect(await ids({ end_date: before })).toEqual([])
      const instants = await service.sql`
        select to_json(certified_at at time zone 'UTC')#>>'{}' || 'Z' as at
        from (select certified_at from assessments union all select certified_at from assessment_parts) as all_of_them
        where certified_at is not null`
      expect(instants.map(row => row.at)).toEqual([from, from, from])
    },
  )

  test('a change of the zone changes every date of every record and part, and the results of filters', async () => {
    await setTimeZone(service.sql, 'UTC')
    await complete(
      ['2024-06-15T10:30Z', '2024-06-15T23:59:59Z'],
      ['2024-06-14T10:00:01Z', '2024-06-15T00:00:01Z'],
    )
    const rows: [zone: string, days: [string, string], ofParts: [string, string], untilThe15th: number[]][] =
      [
        ['Pacific/Kiritimati', ['2024-06-16', '2024-06-16'], ['2024-06-15', '2024-06-15'], []],
        ['Pacific/Niue', ['2024-06-14', '2024-06-15'], ['2024-06-13', '2024-06-14'], [1, 2]],
        ['UTC', ['2024-06-15', '2024-06-15'], ['2024-06-14', '2024-06-15'], [1, 2]],
      ]
    for (const [zone, ofRecords, ofParts, found] of rows) {
      expect(await setTimeZone(service.sql, zone)).toEqual({ isChanged: true, days: 0 })
      expect(await days()).toEqual(ofRecords.map(day => [day, ofParts]))
      expect(await ids({ end_date: '2024-06-15' })).toEqual(found)
    }
  })

  test('what was given as a day stays that day in every zone, whoever changes it', async () => {
    await service.sql`delete from assessments`
    await setTimeZone(service.sql, 'UTC')
    const line = { type: 'assessment', user_id: 1, organization_id: 1, product_id: 1 }
    const part = { id: 3, name: 'Part', proctor_id: 2 }
    const instant = '2018-11-04T00:00:01Z'
    await load(service.sql, [
      { ...line, id: 1, certified_at: '2018-11-04', parts: [{ ...part, certified_at: instant }] },
      { ...line, id: 2, certified_at: instant, parts: [{ ...part, id: 4, certified_at: '2018-11-04' }] },
      { ...line, id: 5, certified_at: '0001-01-01', proctor_id: 2 },
      { ...line, id: 6, certified_at: '9999-12-31', proctor_id: 2 },
    ])
    const first = [['0001-01-01', ['0001-01-01']]]
    const last = [['9999-12-31', ['9999-12-31']]]
    // Sao Paulo had no midnight on that day.
    for (const zone of ['America/Sao_Paulo', 'Pacific/Kiritimati', 'Pacific/Niue', 'America/Havana', 'UTC']) {
      expect(await setTimeZone(service.sql, zone)).toEqual({ isChanged: true, days: 4 })
      const [ofInstant] =
        await service.sql`select (${instant}::timestamptz at time zone ${zone})::date::text as day`
      const moved = [
        ['2018-11-04', [ofInstant?.day]],
        [ofInstant?.day, ['2018-11-04']],
      ]
      expect((await days()).toSorted()).toEqual([...first, ...moved, ...last].toSorted())
    }
    await service.sql`update export_state set time_zone = 'America/Chicago'`
    expect(await ids({ start_date: '2018-11-04', end_date: '2018-11-04' })).toEqual([1])
  })

  test('setting the same zone again changes nothing, not even the version', async () => {
    await setTimeZone(service.sql, 'Europe/Berlin')
    const state = () => service.sql`select version, time_zone from export_version, export_state`
    const before = await state()
    expect(await setTimeZone(service.sql, 'Europe/Berlin')).toEqual({ isChanged: false, days: 0 })
    expect([...(await state())]).toEqual([...before])
  })

  const zoneNow = async () => (await service.sql`select time_zone from export_state`)[0]?.time_zone

  const ELSEWHERE_ANOTHER = ['localtime', 'posixrules', 'Factory', 'posix/Europe/Berlin', 'right/UTC']
  test.each(ELSEWHERE_ANOTHER)(
    'the zone "%s" is refused, because servers interpret it differently',
    async zone => {
      await setTimeZone(service.sql, 'Europe/Berlin')
      const refusal = await setTimeZone(service.sql, zone).catch(error => error)
      expect(refusal).toBeInstanceOf(Failure)
      expect(refusal.message).toBe(
        `there is no time zone ${zone} that is the same on every server: give one as Area/City, for example Europe/Berlin`,
      )
      expect(await zoneNow()).toBe('Europe/Berlin')
    },
  )

  const UNKNOWN = "Mars/Olympus_Mons||Europe/Berlin |+02:00|UTC+3|CET-1CEST,M3.5.0,M10.5.0/3|'".split('|')
  test.each(UNKNOWN)('the unknown zone "%s" is refused and changes nothing', async zone => {
    await setTimeZone(service.sql, 'Europe/Berlin')
    await complete(['2024-06-15T22:30Z'], ['2024-06-14T10:00Z'])
    const refusal = await setTimeZone(service.sql, zone).catch(error => error)
    expect(refusal).toBeInstanceOf(Failure)
    expect(refusal.message).toContain('time zone')
    expect(refusal.message).not.toContain('\n')
    // SQL cannot set the zone either; otherwise every record would be rendered with it.
    const bySql = service.sql`update export_state set time_zone = ${zone}`.then(
      () => 'accepted',
      error => error.code,
    )
    expect(await bySql).toBe('22023')
    expect(await days()).toEqual([['2024-06-16', ['2024-06-14']]])
    expect(await zoneNow()).toBe('Europe/Berlin')
  })

  test("the zone and date style of a writer's session have no effect", async () => {
    await setTimeZone(service.sql, 'America/New_York')
    await service.sql.begin(async sql => {
      await sql`set local TimeZone = 'Pacific/Kiritimati'`
      await sql`set local DateStyle = 'SQL, DMY'`
      await sql`delete from assessments`
      await sql`insert into assessments values (1, 1, 1, 1, '2024-06-15 03:59:59.999999+00')`
      await sql`insert into assessment_parts values (1, 1, 1, null, null, 2)`
    })
    expect(await days()).toEqual([['2024-06-14', ['2024-06-14']]])
  })
})
