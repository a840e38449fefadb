import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { idsOf, staleRecords } from '../support/import.ts'
import { QUERIES } from '../support/platform-example.ts'
import { queriesWith, usersQuery } from '../support/platform-queries.ts'
import { useFeed } from './use-feed.ts'

const { database, feed } = useFeed()

describe('a feed whose queries return less than there is', () => {
  test('leaves types without a query unchanged', async () => {
    await feed()
    const queries = queriesWith({
      'users.sql': `${usersQuery('', { name: "'n'" })};\n-- the end`,
      'assessments.sql': undefined,
      'assessment_parts.sql': undefined,
    })
    expect(await feed({ queries, feed: 'users' }, { sync: { percent: 10 } })).toMatchObject({
      loaded: true,
      summary: { users: { updated: 40 } },
    })
    expect((await idsOf(database.sql, 'assessments')).length).toBeGreaterThan(100)
  })

  test('refuses an assessment that had parts and now has neither parts nor a proctor', async () => {
    await feed()
    const parts = readFileSync(join(QUERIES, 'assessment_parts.sql'), 'utf8')
    const queries = queriesWith({ 'assessment_parts.sql': parts.replace(/;\s*$/, ' and false;') })
    const result = await feed({ queries })
    expect(result.loaded || result.problems[0]?.reason).toMatch(
      /^proctor_id is missing, and there is no part/,
    )
  })

  test('refuses a part whose assessment the queries do not return, and keeps the stored parts', async () => {
    await feed()
    const queries = queriesWith({
      'assessments.sql': `${readFileSync(join(QUERIES, 'assessments.sql'), 'utf8').replace(/;\s*$/, '')} where false`,
    })
    const result = await feed({ queries })
    expect(result.loaded || result.problems[0]?.reason).toMatch(/is not given by assessments.sql/)
    expect(await staleRecords(database.sql)).toBeEmpty()
  })
})
