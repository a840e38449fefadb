import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { Failure } from '../../src/errors.ts'
import type { Limit } from '../../src/limit.ts'
import { cleanUp } from '../support/executable.ts'
import { organization } from '../support/fixtures.ts'
import { everything, importLines, useDatabase } from '../support/import.ts'
import { exported, round, usePlatform } from '../support/platform-example.ts'
import { queriesWith, usersQuery } from '../support/platform-queries.ts'

afterAll(cleanUp)

/** Queries that give the parts that were removed, too, and say so in a column. */
const SOFTLY = {
  'assessments.sql': `
    select o.observation_no as id, teacher_no as user_id, district_no as organization_id, rubric_no as product_id,
      finished_at as certified_at, from_old_system as legacy_record, null as proctor_id
    from observations o
    where state = 'complete' and (select count(*) from stages s where s.observation_no = o.observation_no) > 1`,
  'assessment_parts.sql': `
    select s.observation_no as assessment_id, s.stage_no as id, s.label as name, s.seen_at as certified_at,
      s.observer_no as proctor_id, s.rank as position, s.removed_at is not null as deleted
    from stages s join observations o using (observation_no)
    where o.state = 'complete' and (select count(*) from stages t where t.observation_no = s.observation_no) > 1`,
}

describe('a round of a feed', () => {
  const database = useDatabase()
  const platform = usePlatform()
  beforeEach(async () => {
    await database.sql`truncate feeds`
    await platform.sql`update observations set removed_at = null where removed_at is not null`
    await platform.sql`update stages set removed_at = null where removed_at is not null`
  })
  const feed = (reading: Parameters<typeof round>[2] = {}, options: Parameters<typeof round>[3] = {}) =>
    round(database.sql, platform.url, { overlapSeconds: 0, ...reading }, options)
  const remove = (most: number) =>
    platform.sql`update observations set removed_at = now() where observation_no <= ${most} and state = 'complete'`

  test('that would remove more than a tenth of the assessments loads nothing, until it is allowed to once', async () => {
    await feed()
    await remove(250)
    await platform.sql`update rubrics set label = 'Renamed' where rubric_no = 1`
    const before = await everything(database.sql)
    const refused = await feed().catch(error => error)
    expect(refused).toBeInstanceOf(Failure)
    expect(refused.message).toMatch(/ the round would remove 23 of 180 assessments, .* --max-removed 23$/)
    expect(await everything(database.sql)).toEqual(before)

    expect(await feed({}, { maxRemoved: { count: 23 } })).toMatchObject({
      loaded: true,
      summary: { assessments: { deleted: 23 } },
    })
    expect(await feed()).toMatchObject({ loaded: true, lines: 0 })
  })

  test('may remove ten rows of a few, and no more than a number that is given', async () => {
    await feed()
    await platform.sql`update observations set removed_at = now() where observation_no > 130`
    await feed({}, { maxRemoved: { percent: 100 } })
    // 12 assessments are left, and 10 are more than a tenth of them.
    await remove(110)
    await expect(feed({}, { maxRemoved: { count: 9 } })).rejects.toThrow('more than 9: check')
    expect(await feed()).toMatchObject({ loaded: true, summary: { assessments: { deleted: 10 } } })
  })

  test('with --sync counts what the platform removes softly, too', async () => {
    await feed()
    await remove(250)
    await expect(feed({ isFull: true }, { sync: { percent: 10 } })).rejects.toThrow(
      '--sync would remove 23 of 180 assessments, more than 10%',
    )
  })

  test('names a number that is enough for all tables, also for those within their share', async () => {
    await feed()
    await importLines(database.sql, organization(900))
    await remove(170)
    const sync = async (most: Limit) => await feed({ isFull: true }, { sync: most })
    const { message } = await sync({ percent: 10 }).catch(error => error)
    expect(message).toContain('would remove 1 of 6 organizations, more than 10%: check')
    expect(message).toEndWith('--max-removed 16')
    expect(await sync({ count: 16 })).toMatchObject({
      loaded: true,
      summary: { assessments: { deleted: 16 } },
    })
  })

  test('does not count removals that are left out because their rows are needed', async () => {
    const queries = queriesWith({
      'users.sql': usersQuery("where changed_at >= current_setting('axport.since')::timestamptz", {
        name: 'left_on is not null as deleted, given',
      }),
    })
    const leaveOut = { onReject: () => {}, maxRejected: { count: 100 } }
    await feed({ queries }, leaveOut)
    await platform.sql`update people set left_on = now() where person_no between 2 and 14 and person_no <> 11`
    expect(await feed({ queries }, leaveOut)).toMatchObject({ loaded: true, rejected: 12 })
    await platform.sql`update rubrics set label = 'Renamed' where rubric_no = 2`
    expect(await feed({ queries }, leaveOut)).toMatchObject({
      loaded: true,
      rejected: 12,
      summary: { products: { updated: 1 }, users: { deleted: 0 } },
    })
    await platform.sql`update people set left_on = null where left_on is not null`
  })

  test('does not count rows that were removed before they were loaded', async () => {
    await remove(250)
    expect(await feed()).toMatchObject({
      loaded: true,
      summary: { assessments: { inserted: 157, deleted: 0 } },
    })
  })

  test('counts parts that the platform removes softly in a column, and reports none of them as lost', async () => {
    const queries = queriesWith(SOFTLY)
    await feed({ queries })
    await platform.sql`update stages set removed_at = now() where rank = 2`
    const refused = await feed({ queries }).catch(error => error)
    expect(refused).toBeInstanceOf(Failure)
    const [, removed] =
      /^nothing was loaded: the round would remove (\d+) of \d+ assessment_parts, more than 10%/.exec(
        refused.message,
      ) as string[]
    expect(await feed({ queries }, { maxRemoved: { count: Number(removed) } })).toMatchObject({
      loaded: true,
      lostParts: { records: 0 },
      summary: { assessment_parts: { deleted: Number(removed) } },
    })
  })

  test('says which records lost parts, because the query of parts gave only those that had changed', async () => {
    const queries = queriesWith({
      'assessment_parts.sql': `
        select observation_no as assessment_id, stage_no as id, label as name, seen_at as certified_at, observer_no as proctor_id,
          rank as position
        from stages join observations o using (observation_no)
        where rank > 0 and removed_at is null and o.state = 'complete'
          and stages.changed_at >= current_setting('axport.since')::timestamptz`.replace(
        'removed_at',
        'stages.removed_at',
      ),
      'assessments.sql': `
        select o.observation_no as id, teacher_no as user_id, district_no as organization_id, rubric_no as product_id,
          finished_at as certified_at, from_old_system as legacy_record, null as proctor_id
        from observations o
        where state = 'complete' and (o.changed_at >= current_setting('axport.since')::timestamptz
          or exists (select from stages s where s.observation_no = o.observation_no and s.changed_at >= current_setting('axport.since')::timestamptz))`,
    })
    await feed({ queries })
    await platform.sql`update stages set label = 'newer' where stage_no in (11, 31, 51, 71)`
    const result = await feed({ queries })
    expect(result).toMatchObject({ loaded: true, lostParts: { records: 4, first: [10, 30, 50] } })
    expect((await exported(database.sql)).filter(text => JSON.parse(text).id === 10)[0]).toContain('newer')
  })

  test('reports no lost parts if all parts of an assessment are given', async () => {
    await feed()
    await platform.sql`update stages set label = 'newer' where stage_no = 11`
    expect(await feed()).toMatchObject({ loaded: true, lostParts: { records: 0 } })
  })
})
