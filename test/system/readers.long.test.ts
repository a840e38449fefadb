// Commands that change what is exported, while integrations read from the executable.
import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import type { Sql } from 'postgres'
import { cleanUp } from '../support/executable.ts'
import { get, LIST, newToken, successful } from '../support/http.ts'
import { staleRecords } from '../support/import.ts'
import { succeed } from '../support/operator.ts'
import { Oracle } from '../support/oracle.ts'
import type { Platform } from '../support/oracle-records.ts'
import { type Served, serveWith } from '../support/served.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'
import { readOracle, store } from '../support/stored-platform.ts'
import { withoutPerson } from '../support/without-person.ts'
import { withoutTriggers } from '../support/without-triggers.ts'
import { answersOf } from './chaos/support/truth.ts'
import { integrate } from './support/operations.ts'
import { whileRead } from './support/readers.ts'
import { SCOPE, smallPlatform } from './support/small-platform.ts'

setDefaultTimeout(300_000)

const platform = smallPlatform()
/** A person with assessments, who also proctored some of others. */
const PERSON = 103
const TABLES = ['users', 'assessments', 'assessment_parts'] as const

let database: TestDatabase
let running: Served
let credentials: Awaited<ReturnType<typeof integrate>>
beforeAll(async () => {
  database = await openTestDatabase()
  await store(database.sql, platform)
  credentials = await integrate(database.url)
  running = await serveWith([], { DATABASE_URL: database.url })
  const proctored = platform.assessments.filter(
    ({ user_id, parts }) => user_id !== PERSON && parts.some(part => part.proctor_id === PERSON),
  )
  expect(proctored.length).toBeGreaterThan(0)
})
afterAll(async () => {
  await cleanUp()
  await database.close()
})
beforeEach(async () => {
  await database.sql`truncate erasures`
  await store(database.sql, platform)
})

const stateOf = (data: Platform | Oracle) =>
  answersOf(data instanceof Oracle ? data : new Oracle(data), SCOPE)

const pages = (query: string) => [0, 100, 200].map(offset => `${LIST}?page=100&offset=${offset}${query}`)
/** Pages in several orders, a filter, and records, of which several are the person's. */
const PATHS = [
  ...['', '&order=desc', '&sort=user_name', '&sort=product_name&order=desc'].flatMap(pages),
  ...[`${LIST}?filter[user_ids][]=${PERSON}`, `${LIST}?filter[organization_ids][]=2&page=100`],
  ...platform.assessments
    .filter(({ id, user_id }) => user_id === PERSON || id % 10 === 0)
    .map(({ id }) => `${LIST}/${id}`),
]

/** Asks the executable as an integration. A 404 is undefined, as in the oracle. */
async function asking() {
  const token = await newToken(running.url, credentials)
  return async (path: string) => {
    const answer = await get(running.url, token, path)
    if (answer.status === 404) return undefined
    successful(answer)
    return answer.text
  }
}

/** Keeps the source tables, and writes the rows of the person again as replication would, past the triggers. */
async function keepSource(sql: Sql): Promise<() => Promise<void>> {
  for (const table of TABLES) {
    await sql.unsafe(`drop table if exists kept_${table}`)
    await sql.unsafe(`create table kept_${table} as select * from ${table}`)
  }
  const rows = TABLES.map(table => `delete from ${table}; insert into ${table} select * from kept_${table};`)
  return () => withoutTriggers(sql, rows.join('\n'))
}

test('erase, and the removal of its tombstone, show each reader all of a person or nothing', async () => {
  const ask = await asking()
  const before = stateOf(platform)
  const after = stateOf(withoutPerson(platform, PERSON))
  const bringBack = await keepSource(database.sql)
  await whileRead(PATHS, [before, after], ask, () => succeed(database.url, 'erase', String(PERSON), '--yes'))
  await bringBack()
  for (const path of PATHS) expect([path, await ask(path)]).toEqual([path, after(path)])
  await whileRead(PATHS, [after, before], ask, () =>
    succeed(database.url, 'erase', String(PERSON), '--remove-tombstone'),
  )
  expect(await staleRecords(database.sql)).toEqual([])
})

test('refresh shows each reader all of what was written past the triggers, or nothing', async () => {
  const ask = await asking()
  const before = stateOf(platform)
  await withoutTriggers(
    database.sql,
    `update users set name = name || ' renamed', last_name = last_name || ' renamed';
     update assessments set organization_id = 2 where organization_id = 1 and id % 3 = 0;
     delete from assessment_parts where assessment_id in (select id from assessments where user_id = ${PERSON});
     delete from assessments where user_id = ${PERSON}`,
  )
  const after = stateOf(await readOracle(database.sql))
  await whileRead(PATHS, [before, after], ask, () => succeed(database.url, 'refresh'))
  expect(await staleRecords(database.sql)).toEqual([])
})
