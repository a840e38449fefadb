import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { Sql } from 'postgres'
import { PageMemory } from '../../src/assessments/page-memory.ts'
import { openDatabase } from '../../src/postgres/database.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'
import { type Asked, History, readBody } from './plain.ts'
import { PRODUCTS, reset } from './world.ts'

/** What a server remembers must not outlive what it was true of, whatever an operator does to the database. */

const ASKED: Asked = { sort: 'certified_on', order: 'ASC', filter: 0, size: 50 }
const ORGANIZATIONS = [1, 2, 3]
const SCOPE = { organizations: ORGANIZATIONS, products: PRODUCTS }

let database: TestDatabase
let history: History
let memory: PageMemory
beforeAll(async () => {
  database = await openTestDatabase('postgres')
  history = new History(database.sql)
  await history.start()
})
afterAll(() => database?.close())
beforeEach(async () => {
  await reset(database.sql, 240)
  memory = new PageMemory()
})

const read = (offset: number, pool: Sql = database.sql) => readBody(pool, memory, SCOPE, ASKED, offset)

async function expectPlain(pool?: Sql): Promise<void> {
  await history.forget()
  await history.record(0)
  for (const offset of [0, 50, 100])
    expect(await read(offset, pool)).toBe(await history.page(0, SCOPE, ASKED, offset))
}

const change = (number: number) =>
  database.sql`
    update assessments set certified_at = timestamptz '2025-02-01' - id * interval '1 hour', organization_id = 1
    where id % ${number} = 0`

/** Takes a copy of all tables; the function puts it back as a restore does: without triggers, versions and all. */
async function backup(): Promise<() => Promise<void>> {
  const tables = [
    'assessments',
    'assessment_parts',
    'export_records',
    'organization_versions',
    'export_state',
  ]
  for (const table of tables)
    await database.sql.unsafe(
      `drop table if exists backup_${table}; create table backup_${table} as table ${table}`,
    )
  return async () => {
    await database.sql.begin(async sql => {
      await sql.unsafe('set local session_replication_role = replica')
      for (const table of [...tables].reverse()) {
        await sql.unsafe(`delete from ${table}; insert into ${table} table backup_${table}`)
      }
    })
  }
}

describe('a database that was set back to an older state (a backup, a standby, a commit lost in a crash)', () => {
  test('is read as it is now', async () => {
    const restore = await backup()
    await change(2)
    await expectPlain()
    await restore()
    await expectPlain()
  })

  test('is read as it is when as many changes have followed as were lost, and others', async () => {
    const restore = await backup()
    await change(2)
    await expectPlain()
    await restore()
    await change(3)
    await expectPlain()
  })
})

test('a read model that somebody empties and renders anew is read as it is at each moment', async () => {
  await expectPlain()
  await database.sql`truncate export_records`
  expect(await read(0)).toBe('{"data":[],"meta":{"count":0,"offset":0,"page":50}}')
  await database.sql`select refresh_export_records(array(select id from assessments))`
  await expectPlain()
})

test('records written straight into the read model are noticed as any others', async () => {
  await expectPlain()
  await database.sql`delete from export_records where id % 3 = 0 and organization_id = 1`
  await database.sql`update export_records set organization_id = 6 where organization_id = 2`
  await database.sql`
    merge into export_records r using (select id from assessments where organization_id = 3) a on a.id = r.id
    when matched and a.id % 2 = 0 then delete when matched then update set certified_on = certified_on + 3`
  const { count } = (
    await database.sql<{ count: number }[]>`
      select count(*)::integer as count from export_records where organization_id in (1, 2, 3)`
  )[0] as { count: number }
  expect(await read(10_000)).toBe(`{"data":[],"meta":{"count":${count},"offset":10000,"page":50}}`)
  await database.sql`select refresh_export_records(array(select id from assessments))`
  await expectPlain()
})

test('connections that write days in different ways agree on where a page ended', async () => {
  const name = new URL(database.url).pathname.slice(1)
  for (const style of ['SQL, DMY', 'SQL, MDY', 'German', 'ISO, YMD']) {
    await database.sql.unsafe(`alter database ${name} set datestyle = '${style}'`)
    const pool = await openDatabase(database.url, 1)
    await expectPlain(pool.sql).finally(() => pool.close())
  }
})
