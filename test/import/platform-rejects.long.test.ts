import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { erasePerson } from '../../src/erasure/erase.ts'
import type { Reject } from '../../src/import/rejects.ts'
import type { ImportOptions } from '../../src/import/result.ts'
import { cleanUp } from '../support/executable.ts'
import { everything, idsOf, staleRecords, useDatabase } from '../support/import.ts'
import { round, usePlatform } from '../support/platform-example.ts'
import { queriesWith, usersQuery } from '../support/platform-queries.ts'
import { missing } from '../support/wordings.ts'

afterAll(cleanUp)

/** A person with the given name "none" has no name, which makes the row bad. */
const QUERIES = queriesWith({
  'users.sql': usersQuery("where changed_at >= current_setting('axport.since')::timestamptz", {
    name: "nullif(given, 'none')",
  }),
})

const database = useDatabase()
const platform = usePlatform()

describe('a feed with --rejects', () => {
  let rejects: Reject[] = []
  beforeEach(async () => {
    await database.sql`truncate feeds, erasures`
    await platform.sql`update people set given = 'Given' || person_no where given = 'none'`
  })

  /** A round that reads no row twice. */
  const feed = async (reading: Parameters<typeof round>[2] = {}, options: ImportOptions = {}) => {
    rejects = []
    const leaveOut = {
      maxRejected: { count: 100 },
      onReject: (reject: Reject) => void rejects.push(reject),
      ...options,
    }
    return await round(
      database.sql,
      platform.url,
      { queries: QUERIES, overlapSeconds: 0, ...reading },
      leaveOut,
    )
  }
  const rename = (person: number, given: string) =>
    platform.sql`update people set given = ${given} where person_no = ${person}`
  /** What the row of the feed says. */
  const state = async () => {
    const [row] = await database.sql<{ at: string; leftOut: number }[]>`
      select snapshot_at::text as at, left_out as "leftOut" from feeds`
    return row
  }

  test('goes on while a new user is bad, and loads the user and what refers to it after the correction', async () => {
    await feed()
    await platform.sql`insert into people (person_no, given, family) values (700, 'none', 'New')`
    await platform.sql`update observations set teacher_no = 700 where observation_no in (10, 20)`
    const bad = await feed()
    expect(bad).toMatchObject({ loaded: true, unidentified: undefined })
    expect(rejects[0]).toMatchObject({ file: 'users.sql', id: 700, reason: 'name is missing' })
    expect(bad.loaded && bad.firstRejected).toEqual([
      'users.sql id 700',
      'assessments.sql id 10',
      'assessments.sql id 20',
    ])
    expect(bad.loaded && bad.reasons.map(({ reason }) => reason)).toEqual([
      'name is missing',
      missing('user_id', 'user …'),
      'assessment … cannot be loaded without another line that is bad',
    ])

    await platform.sql`update rubrics set label = 'Renamed' where rubric_no = 1`
    expect(await feed()).toMatchObject({
      loaded: true,
      rejected: bad.loaded && bad.rejected,
      summary: { products: { updated: 1 } },
    })
    await rename(700, 'Mended')
    expect(await feed()).toMatchObject({
      loaded: true,
      rejected: 0,
      summary: { users: { inserted: 1 }, assessments: { updated: 2 } },
    })
    expect(await feed()).toMatchObject({ loaded: true, lines: 0 })
    expect(await staleRecords(database.sql)).toBeEmpty()
    await platform.sql`update observations set teacher_no = 2 where observation_no in (10, 20)`
    await platform.sql`delete from people where person_no = 700`
  })

  test('reads from the same time again until nothing is left out', async () => {
    await feed()
    const first = await state()
    await rename(3, 'none')
    const held = await feed()
    expect((await feed()).since).toBe(held.since)
    expect(await state()).toEqual({ at: first?.at as string, leftOut: 1 })
    await rename(3, 'Mended')
    expect((await feed()).since).toBe(held.since)
    expect((await state())?.at).not.toBe(first?.at)
    expect((await state())?.leftOut).toBe(0)
    expect(await feed()).toMatchObject({ lines: 0 })
  })

  test('reads everything again until the first round that leaves nothing out', async () => {
    await rename(2, 'none')
    for (const _ of [1, 2]) expect(await feed()).toMatchObject({ loaded: true, since: '-infinity' })
    await rename(2, 'Mended')
    expect(await feed()).toMatchObject({ loaded: true, rejected: 0, since: '-infinity' })
    expect((await feed()).since).not.toBe('-infinity')
  })

  test('reads everything of a changed query again until nothing is left out', async () => {
    await feed()
    await rename(2, 'none')
    const queries = queriesWith({
      'users.sql': usersQuery("where changed_at >= current_setting('axport.since')::timestamptz and true", {
        name: "nullif(given, 'none')",
      }),
    })
    for (const _ of [1, 2]) expect(await feed({ queries })).toMatchObject({ rejected: 1, since: '-infinity' })
    await rename(2, 'Mended')
    await feed({ queries })
    expect((await feed({ queries })).since).not.toBe('-infinity')
  })

  test('keeps the stored user while a newer row of it is bad', async () => {
    await feed()
    const [before] = await database.sql`select name from users where id = 5`
    await rename(5, 'none')
    expect(await feed()).toMatchObject({ loaded: true, rejected: 1 })
    const [user] = await database.sql`select name from users where id = 5`
    expect(user?.name).toBe(before?.name)
  })

  test('loads nothing if more rows are bad than --max-rejected allows', async () => {
    await feed()
    await rename(3, 'none')
    expect(await feed({}, { maxRejected: { count: 1 } })).toMatchObject({ loaded: true, rejected: 1 })
    await rename(4, 'none')
    const before = await everything(database.sql)
    expect(await feed({}, { maxRejected: { count: 1 } })).toMatchObject({ loaded: false, total: 2 })
    expect(await everything(database.sql)).toEqual(before)
  })

  test('reads a bad row without an id again, too', async () => {
    await feed()
    await rename(3, 'none')
    const queries = queriesWith({
      'users.sql': usersQuery("where changed_at >= current_setting('axport.since')::timestamptz", {
        id: 'nullif(person_no, 3)',
      }),
    })
    const held = await feed({ queries })
    expect(held).toMatchObject({ loaded: true, unidentified: { file: 'users.sql', row: expect.any(Number) } })
    expect((await feed({ queries })).since).toBe(held.since)
  })

  test('leaves out without a reject what belongs to a person who is erased', async () => {
    await rename(2, 'none')
    await feed()
    expect((await state())?.leftOut).toBeGreaterThan(0)
    await erasePerson(database.sql, '2', { dryRun: false, onWait: () => {} })
    expect(await feed()).toMatchObject({ loaded: true, rejected: 0, erased: { people: 1 } })
    await rename(2, 'Mended')
    expect(await feed()).toMatchObject({ loaded: true, erased: { people: 1 } })
    expect(await idsOf(database.sql, 'users')).not.toContain(2)
  })
})

test('a round without --rejects fails while a row is bad, and the next one reads the row again', async () => {
  await platform.sql`update people set given = 'none' where person_no = 3`
  const plain = { queries: QUERIES, overlapSeconds: 0 }
  for (const _ of [1, 2])
    expect(await round(database.sql, platform.url, plain)).toMatchObject({ loaded: false, total: 1 })
})
