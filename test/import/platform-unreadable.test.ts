import { beforeEach, describe, expect, test } from 'bun:test'
import { round } from '../support/platform-example.ts'
import { queriesWith } from '../support/platform-queries.ts'
import { useRoles } from '../support/roles.ts'
import { folderOf } from './csv-files.ts'
import { useFeed } from './use-feed.ts'

const { database, platform, feed } = useFeed()
const newRole = useRoles()

const messageOf = (work: Promise<unknown>) =>
  work.then(
    () => 'it was loaded',
    (error: Error) => error.message,
  )

describe('a comparison of what a feed once read and no longer can', () => {
  const compared = async () => {
    const [row] = await database.sql<{ at: string | null }[]>`select compared_at::text as at from feeds`
    return row?.at
  }
  const withoutUsers = queriesWith({ 'users.sql': undefined })
  const compare = (queries: string) => messageOf(feed({ queries, isFull: true }, { sync: { percent: 10 } }))

  test('fails without a query file that was read before, until the operator drops it by the statement of the message', async () => {
    await feed()
    await compare(queriesWith({}))
    const before = await compared()
    const message = await compare(withoutUsers)
    expect(message).toBe(
      "nothing was loaded: users.sql is missing, and the feed platform has read it before: put it back; to go on without it, and leave the rows as they are: update feeds set query_files = '{organizations.sql,products.sql,assessments.sql,assessment_parts.sql}' where name = 'platform'",
    )
    expect(await compared()).toBe(before as string)
    await database.sql.unsafe(message.slice(message.indexOf('update feeds')))
    expect(await compare(withoutUsers)).toBe('it was loaded')
  })

  test('fails without a file that was read in a round that left rows out', async () => {
    const organizations = 'select district_no as id, title as name from districts'
    const alone = folderOf({ 'organizations.sql': organizations })
    await feed({ queries: alone })
    const bad = queriesWith({ 'organizations.sql': `${organizations} union all select 900, ''` })
    expect(await feed({ queries: bad }, { onReject: () => {} })).toMatchObject({ rejected: 1 })
    expect(await messageOf(feed({ queries: alone }))).toStartWith(
      'nothing was loaded: products.sql, users.sql, assessments.sql, assessment_parts.sql are missing, and',
    )
  })
})

describe('a role on the platform', () => {
  let url: string
  const read = (view: string, of = url) => {
    const queries = folderOf({ 'organizations.sql': `select district_no as id, title as name from ${view}` })
    return messageOf(round(database.sql, of, { queries, feed: view, isFull: true }))
  }
  beforeEach(async () => {
    const role = await newRole()
    url = role.url(platform.url)
    await platform.sql.unsafe(`
      create or replace view shown as select * from districts;
      grant select on districts, shown to ${role.name}`)
  })

  test('that a policy hides rows from fails the round, unless the URL turns row security on', async () => {
    expect(await read('districts')).toBe('it was loaded')
    await platform.sql.unsafe(`
      alter table districts enable row level security;
      create policy few on districts using (district_no = 1)`)
    expect(await read('districts')).toMatch(
      /^organizations\.sql( line \d)?: query would be affected by row-level security policy for table "districts" \(SQLSTATE 42501\): a policy hides rows/,
    )
    expect(await read('districts', `${url}?options=-c%20row_security%3Don`)).toBe('it was loaded')
    await platform.sql`alter table districts disable row level security`
  })

  test('that loses its grant on a view fails the round, which names the query', async () => {
    expect(await read('shown')).toBe('it was loaded')
    await platform.sql`revoke select on shown from ${platform.sql(new URL(url).username)}`
    expect(await read('shown')).toStartWith(
      'organizations.sql: permission denied for view shown (SQLSTATE 42501)',
    )
  })
})
