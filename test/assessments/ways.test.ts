import { describe, expect, test } from 'bun:test'
import { wayOf } from '../../src/assessments/page.ts'
import { reachOf } from '../../src/assessments/page-statement.ts'

/** Every way gives the same page at a different speed. These tests check which way is taken. */

/** So many of all records match. */
const matching = (count: number, total = 100_000) => ({ count, total })

describe('the way to a page', () => {
  test.each(['user_ids', 'seids', 'proctor_ids'])(
    'is to pick the matching records first if %s leave few',
    filter => {
      expect(wayOf(['legacy_record', filter], 1000, 50, undefined)).toBe('picked')
      expect(wayOf([filter], 1, 50, matching(90_000))).toBe('picked')
    },
  )

  test('is organization by organization for few organizations, if the share of matching records is unknown', () => {
    expect(wayOf([], 16, 50, undefined)).toBe('few')
    expect(wayOf([], 17, 50, undefined)).toBe('along')
    expect(wayOf([], 16, 50, matching(0, 0))).toBe('few')
    expect(wayOf([], 17, 50, matching(0, -1))).toBe('along')
    expect(wayOf(['legacy_record'], 16, 50, matching(90_000))).toBe('few')
    expect(wayOf(['legacy_record'], 17, 50, matching(10))).toBe('along')
  })

  test('is organization by organization if skipping other records would cost more than sorting the matches', () => {
    // The cost model: two entries for each organization and record of the page, ten for each matching record.
    expect(wayOf([], 4, 50, matching(10_000))).toBe('few')
    expect(wayOf([], 5, 50, matching(10_000))).toBe('along')
    // So few records match that sorting them is cheapest, for any number of organizations.
    expect(wayOf([], 400, 50, matching(1581))).toBe('few')
    expect(wayOf([], 400, 50, matching(1582))).toBe('along')
    expect(wayOf([], 400, 50, matching(0))).toBe('few')
    expect(wayOf([], 400, 1, matching(1, 3))).toBe('few')
  })

  test('is a scan of everything if a third of the records match and the page is near', () => {
    expect(wayOf([], 400, 200, matching(100_000, 300_000))).toBe('whole')
    expect(wayOf([], 400, 201, matching(100_000, 300_000))).toBe('along')
    expect(wayOf([], 400, 200, matching(99_999, 300_000))).toBe('along')
  })

  test('is to pick the matching records of a search, unless they are known to be many', () => {
    expect(wayOf(['search'], 17, 50, undefined)).toBe('picked')
    expect(wayOf(['search'], 17, 50, matching(5000))).toBe('picked')
    expect(wayOf(['search'], 17, 50, matching(5001))).toBe('along')
    expect(wayOf(['search'], 16, 50, undefined)).toBe('few')
  })
})

test('a prepared statement accepts places up to a limit of 1,000, 100,000 or 10,000,000 records', () => {
  expect([1, 500, 501, 100_000, 100_001, 10_000_000, 10_000_001].map(reachOf)).toEqual([
    1000, 1000, 100_000, 100_000, 10_000_000, 10_000_000, 1_000_000_000,
  ])
})
