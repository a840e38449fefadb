import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Sql } from 'postgres'
import { everything, importLines, importText, staleRecords, useDatabase } from './support/import.ts'
import {
  common,
  organization,
  part,
  parted,
  people,
  product,
  removal,
  single,
  user,
} from './support/import-lines.ts'
import { BACKENDS } from './support/service.ts'

setDefaultTimeout(120_000)

const counts = (inserted: number, updated: number, unchanged: number, deleted: number) => ({
  inserted,
  updated,
  unchanged,
  deleted,
})
const none = counts(0, 0, 0, 0)
const version = async (sql: Sql) =>
  (await sql<{ version: string }[]>`select version from export_state`)[0]?.version

describe.each(BACKENDS)('the summary of an import into %s', backend => {
  const database = useDatabase(backend)

  async function summaryOf(...lines: object[]) {
    const result = await importLines(database.sql, ...lines)
    if (!result.loaded) throw new Error(JSON.stringify(result.problems))
    return result.summary
  }

  test('counts what is new, by type, an assessment with its parts as one', async () => {
    expect(await summaryOf(...people, single(10), parted(20, 21, 22))).toEqual({
      organizations: counts(1, 0, 0, 0),
      products: counts(1, 0, 0, 0),
      users: counts(2, 0, 0, 0),
      assessments: counts(2, 0, 0, 0),
    })
  })

  test('tells changed rows from those that are as they were', async () => {
    await summaryOf(...people, product(2), single(10), single(11), parted(20, 21, 22), parted(30, 31))
    const summary = await summaryOf(
      organization(1, 'x'),
      organization(2),
      product(1),
      { ...user(1), seid: '5' },
      user(2),
      single(10),
      { ...single(11), product_id: 2 },
      parted(20, 22, 21),
      parted(30, 31),
      single(40),
    )
    expect(summary).toEqual({
      organizations: counts(1, 1, 0, 0),
      products: counts(0, 0, 1, 0),
      users: counts(0, 1, 1, 0),
      assessments: counts(1, 2, 2, 0),
    })
    expect(await staleRecords(database.sql)).toBeEmpty()
  })

  test.each([
    ['a part is added', parted(20, 21, 22, 23)],
    ['a part is gone', parted(20, 21)],
    ['a part has another name', { ...common, id: 20, parts: [part(21), { ...part(22), name: 'x' }] }],
    ['its parts become one', single(20)],
  ])('counts an assessment as updated when %s', async (_, changed) => {
    await summaryOf(...people, parted(20, 21, 22))
    expect((await summaryOf(changed)).assessments).toEqual(counts(0, 1, 0, 0))
    expect((await summaryOf(changed)).assessments).toEqual(counts(0, 0, 1, 0))
  })

  test('counts several lines for one id as one', async () => {
    const summary = await summaryOf(
      ...people,
      user(1, 'x'),
      single(10),
      single(10, { proctor_id: 1 }),
      user(1),
    )
    expect([summary.users, summary.assessments]).toEqual([counts(2, 0, 0, 0), counts(1, 0, 0, 0)])
  })

  test('counts deletions, and those of what is not there as unchanged', async () => {
    await summaryOf(...people, user(3), single(10))
    expect(await summaryOf(removal('assessment', 10), removal('user', 3), removal('user', 404))).toEqual({
      organizations: none,
      products: none,
      users: counts(0, 0, 1, 1),
      assessments: counts(0, 0, 0, 1),
    })
  })

  test('of the same lines again is all unchanged, and the version stays', async () => {
    const lines = [...people, single(10), parted(20, 21, 22)]
    await summaryOf(...lines)
    const before = await version(database.sql)
    expect(await summaryOf(...lines)).toMatchObject({
      users: counts(0, 0, 2, 0),
      assessments: counts(0, 0, 2, 0),
    })
    expect(await version(database.sql)).toEqual(before)
  })

  test('is the same in a dry run, after which everything is as it was', async () => {
    await summaryOf(...people, single(10))
    const before = await everything(database.sql)
    const lines = [removal('assessment', 10), user(9), user(1, 'x')]
    const result = await importText(database.sql, lines.map(line => JSON.stringify(line)).join('\n'), {
      dryRun: true,
    })
    expect(result).toMatchObject({
      loaded: true,
      lines: 3,
      summary: { users: counts(1, 1, 0, 0), assessments: counts(0, 0, 0, 1) },
    })
    expect(await everything(database.sql)).toEqual(before)
  })
})
