import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Failure } from '../../src/errors.ts'
import { setTimeZone } from '../../src/postgres/time-zone.ts'
import { authorize, BACKENDS, load, startService, type TestService } from '../support/service.ts'

interface Day {
  zone: string
  day: string
  before: string
  after: string
  /** Its first instant, and the first of the next day. */
  from: string
  to: string
  hours: number
}

/** Written by hand from the rules of the zones, so that no library is asked twice. */
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
  // Without a midnight: the clock goes from 23:59:59 of the day before to 01:00.
  day('America/Sao_Paulo', '2018-11-04', '2018-11-04T03:00', '2018-11-05T02:00', 23),
  day('Asia/Beirut', '2021-03-28', '2021-03-27T22:00', '2021-03-28T21:00', 23),
  // With 23:00 to midnight twice, and with midnight to 01:00 twice.
  day('America/Sao_Paulo', '2018-02-17', '2018-02-17T02:00', '2018-02-18T03:00', 25),
  day('America/Havana', '2020-11-01', '2020-11-01T04:00', '2020-11-02T05:00', 25),
]

function day(zone: string, day: string, from: string, to: string, hours: number): Day {
  const beside = (days: number) => new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10)
  return { zone, day, before: beside(-1), after: beside(1), from: `${from}:00Z`, to: `${to}:00Z`, hours }
}

/** The last microsecond before an instant on a whole second. */
function justBefore(instant: string): string {
  return new Date(Date.parse(instant) - 1000).toISOString().replace('.000Z', '.999999Z')
}

interface Listed {
  id: number
  certified_on: string
  results: { certified_on: string }[]
}

describe.each(BACKENDS)('the platform has a time zone, on %s:', backend => {
  let service: TestService
  let token: string
  beforeAll(async () => {
    service = await startService(backend)
    await service.sql`insert into organizations values (1, 'Lakeside')`
    await service.sql`insert into products values (1, 'Reading')`
    await service.sql`insert into users (id, name) values (1, 'Ana Ruiz'), (2, 'Pia Proctor')`
    token = (await authorize(service, [1], [1])).token
  })
  afterAll(() => service.close())

  async function list(filters: Record<string, string> = {}): Promise<Listed[]> {
    const query = new URLSearchParams()
    for (const [name, value] of Object.entries(filters)) query.set(`filter[${name}]`, value)
    const response = await fetch(`${service.baseUrl}/api/v1/ax/assessments?${query}`, {
      headers: { authorization: `Bearer ${token}` },
    })
    expect(response.status).toBe(200)
    return ((await response.json()) as { data: Listed[] }).data
  }

  const ids = async (filters: Record<string, string>) => (await list(filters)).map(record => record.id)
  const days = async () => (await list()).map(record => record.certified_on)

  /** Replaces all assessments by one for each instant (ids 1, 2, …), each of which has these parts. */
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

  describe.each(DAYS)('$day in $zone has $hours hours:', ({ zone, day, before, after, from, to, hours }) => {
    beforeAll(async () => {
      expect(Date.parse(to) - Date.parse(from)).toBe(hours * 3_600_000)
      await setTimeZone(service.sql, zone)
      const borders = [justBefore(from), from, justBefore(to), to]
      await complete(borders, borders)
    })

    test('its first and its last microsecond are certified on it, the ones outside are not', async () => {
      expect(await days()).toEqual([before, day, day, after])
    })

    test('the days of the parts are those of the same zone', async () => {
      for (const { results } of await list()) {
        expect(results.map(part => part.certified_on)).toEqual([before, day, day, after])
      }
    })

    test('start_date begins with its first microsecond', async () => {
      expect(await ids({ start_date: day })).toEqual([2, 3, 4])
    })

    test('end_date ends with its last microsecond', async () => {
      expect(await ids({ end_date: day })).toEqual([1, 2, 3])
    })

    test('both together are the whole day and nothing else', async () => {
      expect(await ids({ start_date: day, end_date: day })).toEqual([2, 3])
      expect(await ids({ start_date: after, end_date: before })).toEqual([])
    })
  })

  test('changing it moves every date of every record and part, and the filters with them', async () => {
    await setTimeZone(service.sql, 'UTC')
    await complete(['2024-06-15T10:30Z', '2024-06-15T23:59:59Z'], ['2024-06-14T10:00Z', '2024-06-15T00:00Z'])
    const shown = async () =>
      (await list()).map(({ certified_on, results }) => [
        certified_on,
        results.map(part => part.certified_on),
      ])
    const utc = ['2024-06-14', '2024-06-15']
    expect(await shown()).toEqual([
      ['2024-06-15', utc],
      ['2024-06-15', utc],
    ])

    expect(await setTimeZone(service.sql, 'Pacific/Kiritimati')).toBe(true)
    const east = ['2024-06-15', '2024-06-15']
    expect(await shown()).toEqual([
      ['2024-06-16', east],
      ['2024-06-16', east],
    ])
    expect(await ids({ end_date: '2024-06-15' })).toEqual([])

    expect(await setTimeZone(service.sql, 'Pacific/Niue')).toBe(true)
    const west = ['2024-06-13', '2024-06-14']
    expect(await shown()).toEqual([
      ['2024-06-14', west],
      ['2024-06-15', west],
    ])
    expect(await ids({ end_date: '2024-06-14' })).toEqual([1])

    expect(await setTimeZone(service.sql, 'UTC')).toBe(true)
    expect(await shown()).toEqual([
      ['2024-06-15', utc],
      ['2024-06-15', utc],
    ])
  })

  test('setting it to what it is changes nothing, not even the version', async () => {
    await setTimeZone(service.sql, 'Europe/Berlin')
    const state = () =>
      service.sql`select max(position) as version, (select time_zone from export_state) from export_changes`
    const before = await state()
    expect(await setTimeZone(service.sql, 'Europe/Berlin')).toBe(false)
    expect([...(await state())]).toEqual([...before])
  })

  const ELSEWHERE_ANOTHER = ['localtime', 'posixrules', 'Factory', 'posix/Europe/Berlin', 'right/UTC']
  test.each(ELSEWHERE_ANOTHER)('the zone "%s" is refused, which servers do not agree on', async zone => {
    await setTimeZone(service.sql, 'Europe/Berlin')
    const refusal = await setTimeZone(service.sql, zone).catch(error => error)
    expect(refusal).toBeInstanceOf(Failure)
    expect(refusal.message).toMatch(/^the time zone .* for example (Europe\/Berlin|UTC)$/)
    const [state] = await service.sql`select time_zone from export_state`
    expect(state?.time_zone).toBe('Europe/Berlin')
  })

  const UNKNOWN = [
    ...['Mars/Olympus_Mons', '', 'Europe/Berlin ', '+02:00', 'UTC+3', 'CET-1CEST,M3.5.0,M10.5.0/3', "'"],
  ]
  test.each(UNKNOWN)('the zone "%s" is refused and leaves everything as it was', async zone => {
    await setTimeZone(service.sql, 'Europe/Berlin')
    await complete(['2024-06-15T22:30Z'], ['2024-06-14T10:00Z'])
    const refusal = await setTimeZone(service.sql, zone).catch(error => error)
    expect(refusal).toBeInstanceOf(Failure)
    expect(refusal.message).toContain('time zone')
    expect(refusal.message).not.toContain('\n')
    // Not by SQL either, which the records would otherwise be rendered with.
    const bySql = service.sql`update export_state set time_zone = ${zone}`.then(
      () => 'accepted',
      error => error.code,
    )
    expect(await bySql).toBe('22023')
    expect(await days()).toEqual(['2024-06-16'])
    expect([...(await service.sql`select time_zone from export_state`)]).toEqual([
      { time_zone: 'Europe/Berlin' },
    ])
  })

  test("a writer's own zone and date style change nothing", async () => {
    await setTimeZone(service.sql, 'America/New_York')
    await service.sql.begin(async sql => {
      await sql`set local TimeZone = 'Pacific/Kiritimati'`
      await sql`set local DateStyle = 'SQL, DMY'`
      await sql`delete from assessments`
      await sql`insert into assessments values (1, 1, 1, 1, '2024-06-15 03:59:59.999999+00')`
      await sql`insert into assessment_parts values (1, 1, 1, null, null, 2)`
    })
    const [record] = await list()
    expect(record?.certified_on).toBe('2024-06-14')
    expect(record?.results).toMatchObject([{ certified_on: '2024-06-14' }])
  })

  // Where midnight comes twice, Postgres takes the second one: the day is right, and nobody sees the instant.
  const withOneMidnight = DAYS.filter(({ zone }) => zone !== 'America/Havana')
  describe.each(withOneMidnight)('an imported bare date $day in $zone', ({ zone, day, before, from }) => {
    test('is the first instant of that day, for an assessment and for a part', async () => {
      await service.sql`delete from assessments`
      await setTimeZone(service.sql, zone)
      const row = { type: 'assessment', user_id: 1, organization_id: 1, product_id: 1, certified_at: day }
      const parts = [{ id: 3, name: 'Part', certified_at: day, proctor_id: 2 }]
      await load(service.sql, [
        { ...row, id: 1, proctor_id: 2 },
        { ...row, id: 2, parts },
      ])
      expect(await days()).toEqual([day, day])
      expect(await ids({ start_date: day, end_date: day })).toEqual([1, 2])
      expect(await ids({ end_date: before })).toEqual([])
      const instants = await service.sql`
        select to_json(certified_at at time zone 'UTC')#>>'{}' || 'Z' as at
        from (select certified_at from assessments union all select certified_at from assessment_parts) as all_of_them
        where certified_at is not null`
      expect(instants.map(row => row.at)).toEqual([from, from, from])
    })
  })

  test('a bare date keeps its instant when the zone changes later', async () => {
    await service.sql`delete from assessments`
    await setTimeZone(service.sql, 'Pacific/Kiritimati')
    const ids = { id: 1, user_id: 1, organization_id: 1, product_id: 1, proctor_id: 2 }
    await load(service.sql, [{ type: 'assessment', ...ids, certified_at: '2024-06-15' }])
    await setTimeZone(service.sql, 'UTC')
    expect(await days()).toEqual(['2024-06-14'])
  })
})
