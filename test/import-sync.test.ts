import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { Failure } from '../src/errors.ts'
import type { ImportOptions } from '../src/import/import.ts'
import { everything, importLines, importText, problems, staleRecords, useDatabase } from './support/import.ts'
import { BACKENDS } from './support/service.ts'

setDefaultTimeout(120_000)

const organization = (id: number) => ({ type: 'organization', id, name: 'o' })
const product = (id: number) => ({ type: 'product', id, name: 'p' })
const user = (id: number) => ({ type: 'user', id, name: 'u' })
const people = [organization(1), product(1), user(1)]
const single = (id: number, user_id = 1) => ({
  type: 'assessment',
  id,
  user_id,
  organization_id: 1,
  product_id: 1,
  certified_at: '2026-03-01',
  proctor_id: 1,
})
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)
const all = { sync: { percent: 100 } } satisfies ImportOptions

describe.each(BACKENDS)('an import into %s that removes what its source does not contain', backend => {
  const database = useDatabase(backend)

  const load = (options: ImportOptions, ...lines: (object | string)[]) =>
    importText(
      database.sql,
      lines.map(line => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'),
      options,
    )
  const idsOf = async (table: string) =>
    (await database.sql<{ id: string }[]>`select id from ${database.sql(table)} order by id`).map(({ id }) =>
      Number(id),
    )

  test('removes it, of every type, and counts it', async () => {
    await importLines(
      database.sql,
      ...people,
      organization(2),
      product(2),
      user(2),
      single(10),
      single(11, 2),
    )
    const result = await load(all, ...people, single(10))
    const deleted = { deleted: 1, unchanged: 1 }
    expect(result).toMatchObject({
      loaded: true,
      summary: { organizations: deleted, products: deleted, users: deleted, assessments: deleted },
    })
    expect(await idsOf('users')).toEqual([1])
    expect(await idsOf('export_records')).toEqual([10])
    expect(await staleRecords(database.sql)).toBeEmpty()
  })

  test('that contains everything writes nothing', async () => {
    await importLines(database.sql, ...people, single(10))
    const before = await everything(database.sql)
    await load({ sync: { percent: 0 } }, single(10), ...people)
    expect(await everything(database.sql)).toEqual(before)
  })

  test.each([
    ['a tenth', { percent: 10 }, 2, 3],
    ['a quarter', { percent: 25 }, 5, 6],
    ['three', { count: 3 }, 3, 4],
  ] as const)('removes at most %s', async (_, sync, allowed, refused) => {
    await importLines(database.sql, ...range(1, 20).map(user))
    const before = await everything(database.sql)
    const limit = 'percent' in sync ? `${sync.percent}%` : sync.count
    const tooMany = load({ sync }, ...range(refused + 1, 20).map(user))
    await expect(tooMany).rejects.toThrow(
      new Failure(
        `nothing was loaded: --sync would remove ${refused} of 20 users, more than ${limit}; is the source complete? If so, allow it with --max-removed`,
      ),
    )
    expect(await everything(database.sql)).toEqual(before)
    expect(await load({ sync }, ...range(allowed + 1, 20).map(user))).toMatchObject({ loaded: true })
    expect(await idsOf('users')).toEqual(range(allowed + 1, 20))
  })

  test('names every type of which it would remove too much, as of an empty file', async () => {
    await importLines(database.sql, ...people, single(10))
    await expect(load({ sync: { percent: 10 } })).rejects.toThrow(
      '1 of 1 organizations and 1 of 1 products and 1 of 1 users and 1 of 1 assessments, more than 10%',
    )
  })

  test('removes nothing when a line is bad', async () => {
    await importLines(database.sql, ...people, user(2))
    const before = await everything(database.sql)
    expect(problems(await load(all, ...people, 'nonsense'))).toEqual(['4: not valid JSON'])
    expect(await everything(database.sql)).toEqual(before)
  })

  test('takes a reference to what it would remove for a bad line', async () => {
    await importLines(database.sql, ...people, user(2))
    expect(problems(await load(all, ...people, single(10, 2)))).toEqual([
      '4: user_id: user 2 is no longer in the source',
    ])
  })

  test('keeps what a bad line is about, and what that needs', async () => {
    await importLines(database.sql, ...people, user(2), user(3), user(4), single(10, 2), single(11, 3))
    const bad = [
      { ...user(4), name: '' },
      { ...single(10, 2), certified_at: 'x' },
    ]
    const rejects: string[] = []
    const result = await load(
      { ...all, onReject: ({ reason }) => void rejects.push(reason) },
      ...people,
      ...bad,
    )
    expect(rejects).toEqual(['name is blank', expect.stringMatching(/^certified_at must be/)])
    expect(result).toMatchObject({ loaded: true, keptFor: undefined })
    expect(await idsOf('users')).toEqual([1, 2, 4])
    expect(await idsOf('assessments')).toEqual([10])
  })

  test('removes nothing, and says so, when a bad line does not tell whose it is', async () => {
    await importLines(database.sql, ...people, user(2))
    const result = await load({ ...all, onReject: () => {} }, ...people, 'nonsense', user(3))
    expect(result).toMatchObject({ loaded: true, rejected: 1, keptFor: { line: 4 } })
    expect(await idsOf('users')).toEqual([1, 2, 3])
  })
})
