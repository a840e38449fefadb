import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { erasePerson } from '../../src/erasure/erase.ts'
import type { Reject } from '../../src/import/rejects.ts'
import type { ImportOptions } from '../../src/import/result.ts'
import { cleanUp } from '../support/executable.ts'
import { educator } from '../support/fixtures.ts'
import { everything, idsOf, importLines, staleRecords, useDatabase } from '../support/import.ts'
import { exported, round, usePlatform } from '../support/platform-example.ts'
import { queriesWith, usersQuery } from '../support/platform-queries.ts'
import { missing } from '../support/wordings.ts'

afterAll(cleanUp)

/** A person with the given name "none" has no name, which makes the row bad. */
const QUERIES = queriesWith({
  'users.sql': usersQuery("where changed_at >= current_setting('axport.since')::timestamptz", {
    name: "nullif(given, 'none')",
  }),
})

describe('a feed with --rejects', () => {
  const database = useDatabase()
  const platform = usePlatform()
  let rejects: Reject[] = []
  beforeEach(async () => {
    await database.sql`truncate feeds, feed_rejects, erasures`
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
    return await round(database.sql, platform.url, { queries: QUERIES, overlap: 0, ...reading }, leaveOut)
  }
  const rename = (person: number, given: string) =>
    platform.sql`update people set given = ${given} where person_no = ${person}`
  const waiting = async () => {
    const rows =
      await database.sql`select type, id::float8, assessment_id::float8 from feed_rejects order by type, id`
    return rows.map(({ type, id }) => `${type} ${id}`)
  }
  /** A load of everything into an empty database has the same records. */
  const expectAll = async () => {
    const loaded = await exported(database.sql)
    await database.sql`truncate feeds, feed_rejects, organizations, products, users, assessments, assessment_parts`
    expect(await feed()).toMatchObject({ loaded: true, rejected: 0 })
    expect(await exported(database.sql)).toEqual(loaded)
  }

  test('goes on while a new user is bad, and loads the user and what refers to it after the correction', async () => {
    await rename(2, 'none')
    const first = await feed()
    const theirs = await platform.sql`
      select observation_no from observations where teacher_no = 2 and state = 'complete'`
    expect(first).toMatchObject({ loaded: true, since: '-infinity', unidentified: undefined })
    expect(theirs.length).toBeGreaterThan(3)
    expect(first.loaded && first.rejected).toBeGreaterThan(theirs.length)
    expect(rejects[0]).toMatchObject({ file: 'users.sql', id: 2, reason: 'name is missing' })
    expect((await waiting()).filter(row => row.startsWith('assessment'))).toHaveLength(theirs.length)
    expect(first.loaded && first.reasons.map(({ reason }) => reason)).toEqual([
      'name is missing',
      missing('user_id', 'user …'),
      'assessment … cannot be loaded without another record that is bad',
    ])

    const second = await feed()
    expect(second.since).not.toBe('-infinity')
    expect(second.loaded && second.lines).toBe(first.loaded ? first.rejected : -1)
    expect(await waiting()).toHaveLength(first.loaded ? first.rejected : -1)

    await rename(2, 'Mended')
    const third = await feed()
    expect(third).toMatchObject({ loaded: true, rejected: 0 })
    expect(third.loaded && third.summary.assessments?.inserted).toBe(theirs.length)
    expect(await waiting()).toEqual([])
    expect(await staleRecords(database.sql)).toBeEmpty()
    await expectAll()
  })

  test('replaces a waiting assessment and its parts by newer rows of that assessment', async () => {
    await rename(2, 'none')
    await feed()
    const [row] = await platform.sql`
      select observation_no as id from observations
      where teacher_no = 2 and state = 'complete' and (select count(*) from stages s where s.observation_no = observations.observation_no) > 1`
    await platform.sql`update stages set label = 'newer' where observation_no = ${row?.id}`
    await platform.sql`update observations set removed_at = now() where teacher_no = 2 and observation_no <> ${row?.id}`
    await feed()
    expect(new Set((await waiting()).filter(row => row.startsWith('assessment')))).toEqual(
      new Set([`assessment ${row?.id}`]),
    )
    await rename(2, 'Mended')
    await feed()
    const records = (await exported(database.sql)).map(text => JSON.parse(text))
    const { results } = records.find(({ id }) => id === Number(row?.id))
    expect(results.map((part: { assessment_name: string }) => part.assessment_name)).toEqual([
      'newer',
      'newer',
    ])
    await platform.sql`update observations set removed_at = null where teacher_no = 2`
    await feed()
    await expectAll()
  })

  test('loads waiting rows in a round without changes, after an import by file has brought what they need', async () => {
    await rename(2, 'none')
    await feed()
    await importLines(database.sql, educator(2, { name: 'By file' }))
    const result = await feed()
    expect(result.loaded && result.summary.assessments?.inserted).toBeGreaterThan(0)
    expect(await waiting()).toEqual(['user 2'])
  })

  test('keeps the stored user while a newer row of it is bad', async () => {
    await feed()
    await rename(3, 'none')
    expect(await feed()).toMatchObject({ loaded: true, rejected: 1 })
    expect(await waiting()).toEqual(['user 3'])
    const [user] = await database.sql`select name from users where id = 3`
    expect(user?.name).toBe('Given3')
  })

  test('counts by --max-rejected what waits, and loads nothing beyond the limit', async () => {
    await feed()
    await rename(3, 'none')
    await feed({}, { maxRejected: { count: 1 } })
    await rename(4, 'none')
    const before = await everything(database.sql)
    expect(await feed({}, { maxRejected: { count: 1 } })).toMatchObject({ loaded: false, total: 2 })
    expect(await everything(database.sql)).toEqual(before)
    expect(await waiting()).toEqual(['user 3'])
  })

  test('compares a share of --max-rejected with all stored rows, and not only with those of a round', async () => {
    await feed()
    await platform.sql`update people set given = 'none' where person_no <= 12`
    expect(await feed({}, { maxRejected: { percent: 3 } })).toMatchObject({ loaded: true, rejected: 12 })
    expect(await feed({}, { maxRejected: { percent: 3 } })).toMatchObject({ loaded: true, rejected: 12 })
    expect(await feed({}, { maxRejected: { percent: 2 } })).toMatchObject({ loaded: false, total: 12 })
  })

  test('reads from the same time again, and says so, while a bad row has no id', async () => {
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
    expect(await waiting()).toEqual([])
  })

  test('fails without --rejects while a row waits, and a full round gives up rows that the platform no longer has', async () => {
    await feed()
    await rename(3, 'none')
    await feed()
    const plain = { queries: QUERIES, overlap: 0 }
    expect(await round(database.sql, platform.url, plain)).toMatchObject({ loaded: false, total: 1 })
    expect(await waiting()).toEqual(['user 3'])
    const queries = queriesWith({
      'users.sql': usersQuery('where person_no <> 3'),
    })
    expect(await feed({ queries })).toMatchObject({ loaded: true, since: '-infinity', rejected: 0 })
    expect(await waiting()).toEqual([])
  })

  /** Parts of one observation, of which one has no readable id while its label says so. */
  const withBadParts = (others: Record<string, string | undefined> = {}) =>
    queriesWith({
      'assessment_parts.sql': `
        select observation_no as assessment_id, case when label = 'none' then 'x' else stage_no::text end as id,
          label as name, seen_at as certified_at, observer_no as proctor_id, rank as position
        from stages where observation_no in (
          select observation_no from stages where changed_at >= current_setting('axport.since')::timestamptz
        ) and observation_no % 20 = 10`,
      ...others,
    })

  test('replaces a waiting part without a readable id by the parts of the next round, if assessments are not given', async () => {
    await feed()
    await platform.sql`update stages set label = 'none' where stage_no = 11`
    const queries = withBadParts({ 'assessments.sql': undefined })
    expect(await feed({ queries })).toMatchObject({ loaded: true })
    expect(await waiting()).toEqual(['part 12', 'part null'])
    await platform.sql`update stages set label = 'mended' where stage_no = 11`
    expect(await feed({ queries })).toMatchObject({ loaded: true, rejected: 0 })
    expect(await waiting()).toEqual([])
    const names = await database.sql`select name from assessment_parts where id = 11`
    expect(names.map(({ name }) => name)).toEqual(['mended'])
  })

  test('keeps a bad row once, however often rounds read it again', async () => {
    await platform.sql`update stages set label = 'none' where stage_no = 2001`
    await platform.sql`insert into observations (observation_no, district_no, rubric_no, teacher_no) values (20010, 1, 1, 2)`
    await platform.sql`
      insert into stages (stage_no, observation_no, rank, label, observer_no, seen_at) values (20011, 20010, 1, 'none', 35, now())`
    // It does not give the assessment, which is not complete.
    const queries = withBadParts({
      'assessments.sql': `
        select observation_no as id, teacher_no as user_id, district_no as organization_id, rubric_no as product_id,
          finished_at as certified_at, from_old_system as legacy_record, case when observation_no % 20 = 0 then 31 end as proctor_id
        from observations where state = 'complete' and changed_at >= current_setting('axport.since')::timestamptz`,
    })
    for (const rejected of [1, 1, 1])
      expect(await feed({ queries, overlap: 900 })).toMatchObject({ loaded: true, rejected })
    expect(await waiting()).toEqual(['part null'])
    await platform.sql`delete from stages where stage_no = 20011`
    await platform.sql`delete from observations where observation_no = 20010`
  })

  test('forgets waiting assessments of an erased person, also those that lack a field', async () => {
    const queries = queriesWith({
      'assessments.sql': `
        select observation_no as id, teacher_no as user_id, district_no as organization_id,
          null as product_id, finished_at as certified_at, from_old_system as legacy_record, null as proctor_id
        from observations where state = 'complete' and changed_at >= current_setting('axport.since')::timestamptz`,
    })
    await feed({ queries }, { maxRejected: { percent: 100 } })
    const theirs = async () =>
      (await database.sql`select from feed_rejects where type = 'assessment' and line ~ '^"[0-9]+,3,'`).count
    expect(await theirs()).toBeGreaterThan(3)
    await erasePerson(database.sql, '3', { dryRun: false, onWait: () => {} })
    const [left] = await database.sql`select count(*)::int as rows from feed_rejects where user_id = 3`
    expect(left?.rows).toBe(0)
    const parts = await database.sql`
      select from feed_rejects where type = 'part' and assessment_id in (
        select unnest(array[20, 320, 620, 920, 1220, 1520, 1820]))`
    expect([await theirs(), parts.count]).toEqual([0, 0])
  })

  test('keeps an assessment that waits with another educator when the former educator is erased', async () => {
    await rename(4, 'none')
    await feed()
    const [row] = await platform.sql`
      select observation_no as id from observations o
      where teacher_no = 2 and state = 'complete' and (select count(*) from stages s where s.observation_no = o.observation_no) > 1`
    const id = Number(row?.id)
    await platform.sql`update observations set teacher_no = 4 where observation_no = ${id}`
    await feed()
    const before = await waiting()
    expect(before).toContain(`assessment ${id}`)
    await erasePerson(database.sql, '2', { dryRun: false, onWait: () => {} })
    expect(await feed()).toMatchObject({ loaded: true, rejected: before.length })
    expect(await waiting()).toEqual(before)
    expect(await idsOf(database.sql, 'assessments')).not.toContain(id)
    await rename(4, 'Mended')
    expect(await feed()).toMatchObject({ loaded: true, rejected: 0 })
    expect(await idsOf(database.sql, 'assessments')).toContain(id)
    await platform.sql`update observations set teacher_no = 2 where observation_no = ${id}`
  })

  test('forgets the waiting rows of a person who is erased', async () => {
    await rename(2, 'none')
    await feed()
    expect(await waiting()).not.toEqual([])
    await erasePerson(database.sql, '2', { dryRun: false, onWait: () => {} })
    expect(await waiting()).toEqual([])
    expect(await feed()).toMatchObject({ loaded: true, rejected: 0 })
    await rename(2, 'Mended')
    expect(await feed()).toMatchObject({ loaded: true, erased: { people: 1 } })
    expect(await idsOf(database.sql, 'users')).not.toContain(2)
  })
})
