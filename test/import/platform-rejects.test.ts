import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { erasePerson } from '../../src/erasure/erase.ts'
import type { Reject } from '../../src/import/rejects.ts'
import type { ImportOptions } from '../../src/import/result.ts'
import { cleanUp } from '../support/executable.ts'
import { educator } from '../support/fixtures.ts'
import { everything, idsOf, importLines, staleRecords, useDatabase } from '../support/import.ts'
import { exported, round, usePlatform } from '../support/platform-example.ts'
import { queriesWith } from '../support/platform-queries.ts'
import { BACKENDS_OF_TIER } from '../support/service.ts'

afterAll(cleanUp)

/** A person with the given name "none" has no name, which makes the row bad. */
const QUERIES = queriesWith({
  'users.sql': `
    select person_no as id, nullif(given, 'none') as name, given as first_name, family as last_name from people
    where changed_at >= current_setting('axport.since')::timestamptz`,
})

describe.each(BACKENDS_OF_TIER)('a feed into %s with --rejects', backend => {
  const database = useDatabase(backend)
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
      'user_id: user … is neither in the file nor in the database',
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
      'users.sql': `
        select nullif(person_no, 3) as id, given as name from people
        where changed_at >= current_setting('axport.since')::timestamptz`,
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
      'users.sql': `select person_no as id, given as name from people where person_no <> 3`,
    })
    expect(await feed({ queries })).toMatchObject({ loaded: true, since: '-infinity', rejected: 0 })
    expect(await waiting()).toEqual([])
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
