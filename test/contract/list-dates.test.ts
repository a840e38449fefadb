import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { assessment, multiPart, part, removal, world } from '../support/fixtures.ts'
import { load } from '../support/service.ts'
import { contract, LIST, SCOPE } from './support/contract.ts'
import { rule } from './support/rule.ts'

const at = (id: number, certified_at: string) => assessment(id, { certified_at })

const setup = {
  lines: [
    ...world(),
    at(1, '2026-03-01T04:59:59.999999Z'),
    at(2, '2026-03-01T05:00:00Z'),
    at(3, '2026-03-02T04:59:59.999999Z'),
    at(4, '2026-03-02T05:00:00Z'),
    // In New York, 8 March 2026 has 23 hours and 1 November has 25.
    at(5, '2026-03-08T04:59:59Z'),
    at(6, '2026-03-08T05:00:00Z'),
    at(7, '2026-03-09T03:59:59.999999Z'),
    at(8, '2026-03-09T04:00:00Z'),
    at(9, '2026-11-01T03:59:59Z'),
    at(10, '2026-11-01T04:00:00Z'),
    at(11, '2026-11-02T04:59:59.999999Z'),
    at(12, '2026-11-02T05:00:00Z'),
    multiPart(
      20,
      [
        part(21, { certified_at: '2027-01-01T04:30:00Z' }),
        part(22, { certified_at: '2027-01-01T09:59:59Z' }),
      ],
      { certified_at: '2027-01-01T10:00:00Z' },
    ),
  ],
  integrations: { main: SCOPE },
} as const

contract('The dates', setup, api => {
  const between = (start: string, end: string) =>
    api.ids(`filter[start_date]=${start}&filter[end_date]=${end}`)
  /** Sets the time zone of the platform, which renders every record again. */
  const moveTo = async (timeZone: string) => {
    await api.service.sql`update export_state set time_zone = ${timeZone}`
  }
  const dayOf = async (id: number) => {
    const { body } = await api.get(`${LIST}/${id}`)
    const record = body as { certified_on: string; results: { certified_on: string }[] }
    return [record.certified_on, ...record.results.map(part => part.certified_on)]
  }

  describe('in filters', () => {
    test(rule('start_date matches that day and later days', 'F3'), async () => {
      expect(await api.ids('filter[start_date]=2026-11-01')).toEqual([9, 10, 11, 12, 20])
      expect(await api.ids('filter[start_date]=2026-11-02')).toEqual([11, 12, 20])
      expect(await api.ids('filter[start_date]=2027-01-02')).toEqual([])
    })

    test(rule('end_date matches all of that day, and earlier days', 'F4'), async () => {
      expect(await api.ids('filter[end_date]=2026-03-01')).toEqual([1, 2])
      expect(await api.ids('filter[end_date]=2026-03-02')).toEqual([1, 2, 3, 4])
      expect(await api.ids('filter[end_date]=2026-02-28')).toEqual([])
    })

    test('are days in UTC by default', async () => {
      expect(await dayOf(1)).toEqual(['2026-03-01', '2026-03-01'])
      expect(await between('2026-03-01', '2026-03-01')).toEqual([1, 2])
    })

    test('start_date and end_date with the same day match that day', async () => {
      expect(await between('2026-03-02', '2026-03-02')).toEqual([3, 4])
    })

    test('a start_date after the end_date gives an empty list and no error', async () => {
      expect(await between('2026-03-02', '2026-03-01')).toEqual([])
    })

    test('are compared with the overall assessment, not with its parts', async () => {
      const early = part(31, { certified_at: '2020-01-01' })
      await load(api.service.sql, [multiPart(30, [early], { certified_at: '2030-01-01' })])
      try {
        expect(await between('2020-01-01', '2020-01-01')).toEqual([])
        expect(await between('2030-01-01', '2030-01-01')).toEqual([30])
      } finally {
        await load(api.service.sql, [removal('assessment', 30)])
      }
    })

    test('may be any real day, including leap days and the first and last day of the calendar', async () => {
      for (const day of ['2024-02-29', '2000-02-29', '0001-01-01', '1969-12-31']) {
        expect([day, await api.ids(`filter[end_date]=${day}`)]).toEqual([day, []])
      }
      expect(await api.ids('filter[start_date]=0001-01-01&filter[end_date]=9999-12-31')).toHaveLength(13)
    })
  })

  describe('in New York', () => {
    beforeAll(() => moveTo('America/New_York'))
    afterAll(() => moveTo('UTC'))

    test(
      rule(
        'start and end at local midnight, to the microsecond, and have 23 and 25 hours when the clocks change',
        'F14',
      ),
      async () => {
        const winter = { '2026-02-28': [1], '2026-03-01': [2, 3], '2026-03-02': [4], '2026-03-07': [5] }
        const changes = {
          '2026-03-08': [6, 7],
          '2026-03-09': [8],
          '2026-11-01': [10, 11],
          '2026-11-02': [12],
        }
        for (const [day, ids] of Object.entries({ ...winter, ...changes, '2026-10-31': [9] }))
          expect([day, await between(day, day)]).toEqual([day, ids])
        expect(await api.ids('filter[end_date]=2026-03-01')).toEqual([1, 2, 3])
      },
    )

    test(rule('are local days, of the assessment and of each part', 'R5', 'R7'), async () => {
      expect(await dayOf(1)).toEqual(['2026-02-28', '2026-02-28'])
      expect(await dayOf(20)).toEqual(['2027-01-01', '2026-12-31', '2027-01-01'])
    })

    test('without a time stay that day in another time zone', async () => {
      await load(api.service.sql, [at(40, '2026-06-10')])
      expect(await between('2026-06-10', '2026-06-10')).toEqual([40])
      await moveTo('America/Chicago')
      expect(await between('2026-06-10', '2026-06-10')).toEqual([40])
      await load(api.service.sql, [removal('assessment', 40)])
    })
  })
})
