import { describe, expect, test } from 'bun:test'
import {
  assessment,
  EDUCATOR,
  educator,
  multiPart,
  ORGANIZATION,
  organization,
  part,
  proctor,
  REFERENCED,
  removal,
} from '../support/fixtures.ts'
import { everything, idsOf, importLines, importWith, problems, useDatabase } from '../support/import.ts'
import { missing } from '../support/wordings.ts'

const short = { type: 'user', id: 5, name: 'Ana' }
const full = educator(5, { name: 'Ana' })

describe('imported lines for one id', () => {
  const database = useDatabase()

  test('count as one if they are equal, in any order of keys and any form of values', async () => {
    const { sql } = database
    const instants = ['2026-03-01T18:20:00Z', '2026-03-01T19:20:00+01:00']
    const twice = [
      ...REFERENCED,
      multiPart(10, [part(12), part(11)]),
      assessment(20, { certified_at: instants[0] }),
      removal('user', 404),
      educator(6, { seid: null, email: null }),
    ]
    const again = [
      ...REFERENCED.map(line => Object.fromEntries(Object.entries(line).reverse())),
      multiPart(10, [part(12), part(11)]),
      assessment(20, { certified_at: instants[1], colour: 'red' }),
      removal('user', 404),
      educator(6, { seid: ' ', email: '' }),
    ]
    const result = await importLines(sql, ...twice, ...again)
    expect(result).toMatchObject({
      loaded: true,
      summary: { users: { inserted: 3 }, assessments: { inserted: 2 } },
    })
    expect(await idsOf(sql, 'assessment_parts')).toEqual([11, 12, 20])
  })

  test.each<[string, string, object, object]>([
    ['user 5', 'is given in short and in full', short, full],
    ['user 5', 'has a field cleared in one', full, { ...full, seid: null }],
    ['user 5', 'is removed by one', removal('user', 5), full],
    ['organization 5', 'has two names', organization(5), organization(5, 'x')],
    [
      'assessment 5',
      'has a value whose default the other line has',
      assessment(5),
      assessment(5, { legacy_record: true }),
    ],
    ['assessment 5', 'has its parts in two orders', multiPart(5, [11, 12]), multiPart(5, [12, 11])],
    ['assessment 5', 'has two names for a part', multiPart(5, [11]), multiPart(5, [part(11, { name: 'x' })])],
    ['assessment 5', 'has parts in one and a proctor in the other', multiPart(5, [11]), assessment(5)],
  ])('are bad if they differ, and each reason names the other line: %s %s', async (what, _, one, other) => {
    await importLines(database.sql, ...REFERENCED, assessment(5))
    const before = await everything(database.sql)
    expect(problems(await importLines(database.sql, one, proctor(99), other))).toEqual([
      `1: ${what} differs from line 3`,
      `3: ${what} differs from line 1`,
    ])
    expect(await everything(database.sql)).toEqual(before)
  })

  test('are all rejected if they differ or one is bad, and lines that refer to them are rejected too', async () => {
    const { sql } = database
    const lines = [
      ...REFERENCED,
      ...[short, full, short],
      ...[educator(6), educator(6, { name: '' })],
      assessment(20, { user_id: 5 }),
      assessment(21, { user_id: 6 }),
      assessment(22),
    ]
    const expected = [
      '5: user 5 differs from line 6',
      '6: user 5 differs from line 5',
      '7: user 5 differs from line 6',
      '8: user 6 differs from line 9',
      '9: name is blank',
    ]
    expect(problems(await importLines(sql, ...lines))).toEqual(expected)
    const rejects: string[] = []
    const onReject = ({ line, reason }: { line?: number; reason: string }) =>
      void rejects.push(`${line}: ${reason}`)
    expect(await importWith(sql, { onReject }, ...lines)).toMatchObject({ loaded: true, rejected: 7 })
    expect(rejects).toEqual([
      ...expected,
      `10: ${missing('user_id', 'user 5')}`,
      `11: ${missing('user_id', 'user 6')}`,
    ])
    expect(await idsOf(sql, 'assessments')).toEqual([22])
  })

  test('that differ do not make --sync remove the record', async () => {
    const { sql } = database
    await importLines(sql, ...REFERENCED, full, educator(7))
    const options = { sync: { percent: 100 }, onReject: () => {} }
    await importWith(sql, options, ...REFERENCED, short, full)
    expect(await idsOf(sql, 'users')).toEqual([5, 77, EDUCATOR])
  })

  test('are all counted, even if there are 20,000', async () => {
    const many = Array.from({ length: 20_000 }, (_, at) => organization(ORGANIZATION, `Organization ${at}`))
    expect(await importLines(database.sql, ...many)).toMatchObject({ loaded: false, total: 20_000 })
  })
})
