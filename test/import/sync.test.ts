import { describe, expect, test } from 'bun:test'
import { Failure } from '../../src/errors.ts'
import type { ImportOptions } from '../../src/import/result.ts'
import {
  assessment,
  EDUCATOR,
  educator,
  multiPart,
  organization,
  PROCTOR,
  product,
  REFERENCED,
  removal,
} from '../support/fixtures.ts'
import {
  everything,
  idsOf,
  importLines,
  importWith,
  partsOf,
  problems,
  staleRecords,
  useDatabase,
} from '../support/import.ts'

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)
const all = { sync: { percent: 100 } } satisfies ImportOptions

describe('an import with --sync', () => {
  const database = useDatabase()

  const load = (options: ImportOptions, ...lines: (object | string)[]) =>
    importWith(database.sql, options, ...lines)

  test('removes rows of every type that the source lacks, and counts them', async () => {
    await importLines(
      database.sql,
      ...REFERENCED,
      organization(2),
      product(2),
      educator(2),
      assessment(10),
      assessment(11, { user_id: 2 }),
    )
    const result = await load(all, ...REFERENCED, assessment(10))
    const deleted = { deleted: 1, unchanged: 1 }
    expect(result).toMatchObject({
      loaded: true,
      summary: {
        organizations: deleted,
        products: deleted,
        users: { deleted: 1, unchanged: 2 },
        assessments: deleted,
      },
    })
    expect(await idsOf(database.sql, 'users')).toEqual([PROCTOR, EDUCATOR])
    expect(await idsOf(database.sql, 'export_records')).toEqual([10])
    expect(await staleRecords(database.sql)).toBeEmpty()
  })

  test('counts for its limit what the source lacks, and not what its lines delete', async () => {
    await importLines(database.sql, ...REFERENCED, organization(2), organization(3))
    const kept = [...REFERENCED, removal('organization', 2)]
    await expect(load({ sync: { count: 0 } }, ...kept)).rejects.toThrow(
      /would remove 1 of \d+ organizations,/,
    )
    const loaded = await load({ sync: { count: 0 } }, ...kept, organization(3))
    expect(loaded).toMatchObject({ loaded: true, summary: { organizations: { deleted: 1 } } })
  })

  test('writes nothing if the source contains every row', async () => {
    await importLines(database.sql, ...REFERENCED, assessment(10))
    const before = await everything(database.sql)
    await load({ sync: { percent: 0 } }, assessment(10), ...REFERENCED)
    expect(await everything(database.sql)).toEqual(before)
  })

  test.each([
    ['a tenth', { percent: 10 }, 2, 3],
    ['three', { count: 3 }, 3, 4],
  ] as const)('removes at most %s of a type', async (_, sync, allowed, refused) => {
    await importLines(database.sql, ...range(1, 20).map(id => educator(id)))
    const before = await everything(database.sql)
    const limit = 'percent' in sync ? `${sync.percent}%` : sync.count
    const tooMany = load({ sync }, ...range(refused + 1, 20).map(id => educator(id)))
    await expect(tooMany).rejects.toThrow(
      new Failure(
        `nothing was loaded: --sync would remove ${refused} of 20 users, more than ${limit}: check the source; to remove them once: the same command with --max-removed ${refused}`,
      ),
    )
    expect(await everything(database.sql)).toEqual(before)
    expect(await load({ sync }, ...range(allowed + 1, 20).map(id => educator(id)))).toMatchObject({
      loaded: true,
    })
    expect(await idsOf(database.sql, 'users')).toEqual(range(allowed + 1, 20))
  })

  test('counts in the database what loads removed, because small removals add up', async () => {
    const removed = () => database.sql<{ removed: string; remaining: string }[]>`
      select removed, remaining from removals where table_name = 'users'`
    const before = Number((await removed())[0]?.removed)
    await importLines(database.sql, ...range(1, 13).map(id => educator(id)))
    const sync = { percent: 10 }
    for (const from of [2, 3]) await load({ sync }, ...range(from, 13).map(id => educator(id)))
    await load({ sync, dryRun: true }, ...range(4, 13).map(id => educator(id)))
    await importLines(database.sql, removal('user', 3), removal('user', 99))
    expect([...(await removed())]).toEqual([{ removed: String(before + 3), remaining: '10' }])
  })

  test('names every type that exceeds the limit, and a number that is enough for all types', async () => {
    await importLines(database.sql, ...REFERENCED, assessment(10), ...range(1, 40).map(id => educator(id)))
    const fewer = [organization(2), ...range(4, 40).map(id => educator(id)), educator(PROCTOR)]
    await expect(load({ sync: { percent: 10 } }, ...fewer)).rejects.toThrow(
      /1 of 1 organizations and 1 of 1 products and 1 of 1 assessments, .* --max-removed 4$/,
    )
    expect(await load({ sync: { count: 4 } }, ...fewer)).toMatchObject({ loaded: true })
  })

  test('removes and counts the parts that an assessment no longer lists, up to the limit', async () => {
    await importLines(
      database.sql,
      ...REFERENCED,
      multiPart(10, [11, 12, 13]),
      multiPart(20, [21]),
      assessment(30),
    )
    const fewer = [...REFERENCED, multiPart(10, [11]), multiPart(20, [21, 13]), assessment(30)]
    const before = await everything(database.sql)
    await expect(load({ sync: { count: 0 } }, ...fewer)).rejects.toThrow(
      / 1 of 4 assessment_parts, more than 0: .* --max-removed 1$/,
    )
    expect(await everything(database.sql)).toEqual(before)
    expect(await load({ sync: { percent: 25 } }, ...fewer)).toMatchObject({
      summary: { assessment_parts: { inserted: 0, updated: 1, unchanged: 3, deleted: 1 } },
    })
    expect(await partsOf(database.sql)).toEqual({ 10: [11], 20: [21, 13], 30: [30] })
  })

  test('refuses a reference to a row that would be removed', async () => {
    await importLines(database.sql, ...REFERENCED, educator(2))
    expect(problems(await load(all, ...REFERENCED, assessment(10, { user_id: 2 })))).toEqual([
      '5: user_id: user 2 is deleted by --sync (delete this, too, or archive the user)',
    ])
  })

  test('keeps the rows of rejected lines, and the rows that those need', async () => {
    await importLines(
      database.sql,
      ...REFERENCED,
      educator(2),
      educator(3),
      educator(4),
      assessment(10, { user_id: 2 }),
      assessment(11, { user_id: 3 }),
    )
    const bad = [educator(4, { name: '' }), assessment(10, { user_id: 2, certified_at: 'x' })]
    const rejects: string[] = []
    const result = await load(
      { ...all, onReject: ({ reason }) => void rejects.push(reason) },
      ...REFERENCED,
      ...bad,
    )
    expect(rejects).toEqual(['name is blank', expect.stringMatching(/^certified_at must be/)])
    expect(result).toMatchObject({ loaded: true, unidentified: undefined })
    expect(await idsOf(database.sql, 'users')).toEqual([2, 4, PROCTOR, EDUCATOR])
    expect(await idsOf(database.sql, 'assessments')).toEqual([10])
  })

  test('removes only parts, up to the limit, if a rejected line does not say its id', async () => {
    await importLines(database.sql, ...REFERENCED, educator(2), multiPart(10, [11, 12]))
    const lines = [...REFERENCED, 'nonsense', educator(3), multiPart(10, [11])]
    const onReject = () => {}
    await expect(load({ sync: { percent: 10 }, onReject }, ...lines)).rejects.toThrow(
      'nothing was loaded: --sync would remove 1 of 2 assessment_parts, more than 10%',
    )
    expect(await load({ ...all, onReject }, ...lines)).toMatchObject({
      loaded: true,
      rejected: 1,
      unidentified: { line: 5 },
      summary: { assessment_parts: { deleted: 1 } },
    })
    expect(await idsOf(database.sql, 'users')).toEqual([2, 3, PROCTOR, EDUCATOR])
  })
})
