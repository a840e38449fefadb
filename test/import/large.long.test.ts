import { describe, expect, test } from 'bun:test'
import { openDatabase } from '../../src/postgres/database.ts'
import { everything, importText, staleRecords, useDatabase } from '../support/import.ts'
import { useRoles } from '../support/roles.ts'
import { until } from '../support/until.ts'
import { ASSESSMENTS, definitions, expectFirstLoad, SAMPLE } from './large-load.ts'

describe('a first load of the embedded database that puts off indexes and foreign keys', () => {
  const database = useDatabase('embedded')

  test('leaves them as they were, and every record true', async () => {
    await expectFirstLoad(database.sql)
  })
})

describe('a large load', () => {
  const database = useDatabase('postgres')
  const newRole = useRoles()

  test('is all undone when it is not kept', async () => {
    const { sql } = database
    const before = [await definitions(sql), await everything(sql)]
    const result = await importText(sql, SAMPLE, { dryRun: true })
    expect(result).toMatchObject({ loaded: true, summary: { assessments: { inserted: ASSESSMENTS } } })
    expect([await definitions(sql), await everything(sql)]).toEqual(before)
  })

  test('leaves out what is bad, and nothing else', async () => {
    const { sql } = database
    const lines = SAMPLE.split('\n').filter(line => !line.includes('"type":"product","id":2,'))
    let rejects = 0
    const options = { onReject: () => void rejects++, maxRejected: { percent: 10 } }
    const result = await importText(sql, lines.join('\n'), options)
    if (!result.loaded) throw new Error('nothing was loaded')
    expect(rejects).toBe(ASSESSMENTS / 10)
    expect(result.summary.assessments?.inserted).toBe(ASSESSMENTS - rejects)
    expect(await staleRecords(sql)).toBeEmpty()
  })

  test('by a role that does not own the tables loads the same, with everything in place all the time', async () => {
    const { sql, url } = database
    const role = await newRole()
    await sql.unsafe(`
      grant select, insert, update, delete on all tables in schema public to ${role.name};
      grant execute on all functions in schema public to ${role.name}`)
    const before = await definitions(sql)
    const limited = await openDatabase(role.url(url), 2)
    expect(await importText(limited.sql, SAMPLE)).toMatchObject({ loaded: true })
    await limited.close()
    expect(await definitions(sql)).toEqual(before)
    expect(await sql`select from export_records`).toHaveLength(ASSESSMENTS)
    expect(await staleRecords(sql)).toBeEmpty()
    await sql.unsafe(`drop owned by ${role.name}`)
  })

  test('loads the same where a view needs a key that it would put off', async () => {
    const { sql } = database
    const before = await definitions(sql)
    await sql`create view people_of_ours as select u.id, u.name from users u join assessments a on a.user_id = u.id group by u.id`
    expect(await importText(sql, SAMPLE)).toMatchObject({ loaded: true })
    await sql`drop view people_of_ours`
    expect(await definitions(sql)).toEqual(before)
    expect(await sql`select from export_records`).toHaveLength(ASSESSMENTS)
    expect(await staleRecords(sql)).toBeEmpty()
  })

  test('does not wait for a reader who does not end', async () => {
    const { sql } = database
    const reader = await sql.reserve()
    await reader`begin`
    await reader`select count(*) from export_records`
    expect(await importText(sql, SAMPLE)).toMatchObject({ loaded: true })
    await reader`commit`
    reader.release()
    expect(await staleRecords(sql)).toBeEmpty()
  })

  test('gives way to a writer who goes on from one table to the next, and loads everything', async () => {
    const { sql } = database
    const writer = await sql.reserve()
    await writer`begin`
    await writer`update users set name = name`
    const load = importText(sql, SAMPLE)
    await until('the load waits for a lock', async () => {
      const { count } = await sql`
        select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query ~ '^(alter table|select lock_export)'`
      return count
    })
    // It waits in the queue of writers, or has this table and waits for the other one.
    await writer`update assessments set legacy_record = true`
    await writer`commit`
    writer.release()
    expect(await load).toMatchObject({ loaded: true, summary: { assessments: { inserted: ASSESSMENTS } } })
    expect(await staleRecords(sql)).toBeEmpty()
  })
})
