import { beforeEach, describe, expect, test } from 'bun:test'
import type { Sql } from 'postgres'
import { PageMemory } from '../../../src/assessments/page-memory.ts'
import { openDatabase } from '../../../src/database/database.ts'
import { readOracle } from '../../support/stored-platform.ts'
import { useDatabase } from './database.ts'
import { useWay, WALKED } from './limits.ts'
import { issueTokens, type ListParameters, readBody, rightPage } from './questions.ts'
import { runnerOn } from './runners.ts'
import { PRODUCTS, reset } from './world.ts'

/**
 * What is remembered must not be used after the state that it describes has gone, whatever an operator does to the
 * database.
 */

const PARAMETERS: ListParameters = { sort: 'certified_on', order: 'ASC', filter: 0, size: 50 }
const ORGANIZATIONS = [1, 2, 3]
const SCOPE = { organizations: ORGANIZATIONS, products: PRODUCTS }

useWay(WALKED)
const db = useDatabase()
let memory: PageMemory
beforeEach(async () => {
  await reset(db.sql, 240)
  await issueTokens(db.sql, SCOPE)
  memory = new PageMemory()
})

const read = (offset: number, pool: Sql = db.sql) =>
  readBody(runnerOn(pool), memory, SCOPE, PARAMETERS, offset)

async function expectRight(pool?: Sql): Promise<void> {
  const oracle = await readOracle(db.sql)
  for (const offset of [0, 50, 100])
    expect(await read(offset, pool)).toBe(rightPage(oracle, SCOPE, PARAMETERS, offset))
}

const change = (number: number) =>
  db.sql`
    update assessments set certified_at = timestamptz '2025-02-01' - id * interval '1 hour', organization_id = 1
    where id % ${number} = 0`

/**
 * Copies all tables. The returned function restores them as pg_restore does: without triggers, with the version.
 */
async function backup(): Promise<() => Promise<void>> {
  const tables = [
    'assessments',
    'assessment_parts',
    'export_records',
    'export_counts',
    'export_version',
    'export_state',
  ]
  for (const table of tables)
    await db.sql.unsafe(
      `drop table if exists backup_${table}; create table backup_${table} as table ${table}`,
    )
  return async () => {
    await db.sql.begin(async sql => {
      await sql.unsafe('set local session_replication_role = replica')
      for (const table of [...tables].reverse()) {
        await sql.unsafe(`delete from ${table}; insert into ${table} table backup_${table}`)
      }
    })
  }
}

describe('a database that was set back (by a backup, by a failover, by a crash that lost a commit)', () => {
  test.each([
    ['is read in its current state', []],
    ['is read in its current state after other changes', [3]],
  ])('%s', async (_, followed) => {
    const restore = await backup()
    await change(2)
    await expectRight()
    await restore()
    for (const number of followed) await change(number)
    await expectRight()
  })
})

test('a read model that is truncated and rendered again is read in its current state each time', async () => {
  await expectRight()
  await db.sql`truncate export_records`
  expect(await read(0)).toBe('{"data":[],"meta":{"count":0,"offset":0,"page":50}}')
  await db.sql`select refresh_export_records(array(select id from assessments))`
  await expectRight()
})

test('a database whose version was deleted is read in its current state, also after further writes', async () => {
  await expectRight()
  await db.sql`delete from export_version`
  await expectRight()
  await change(2)
  await expectRight()
})

test('records that are written into the read model itself are noticed', async () => {
  await expectRight()
  await db.sql`delete from export_records where id % 3 = 0 and organization_id = 1`
  await db.sql`update export_records set organization_id = 6 where organization_id = 2`
  await db.sql`
    merge into export_records r using (select id from assessments where organization_id = 3) a on a.id = r.id
    when matched and a.id % 2 = 0 then delete when matched then update set certified_on = certified_on + 3`
  const { length } = await db.sql`select from export_records where organization_id in (1, 2, 3)`
  expect(await read(10_000)).toBe(`{"data":[],"meta":{"count":${length},"offset":10000,"page":50}}`)
  await db.sql`select refresh_export_records(array(select id from assessments))`
  await expectRight()
})

test('connections with different datestyle settings read the same pages from a remembered cursor', async () => {
  const name = new URL(db.url).pathname.slice(1)
  for (const style of ['SQL, DMY', 'SQL, MDY', 'German', 'ISO, YMD']) {
    await db.sql.unsafe(`alter database ${name} set datestyle = '${style}'`)
    const pool = await openDatabase(db.url, 1)
    await expectRight(pool.sql).finally(() => pool.close())
  }
})
