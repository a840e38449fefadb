import { beforeEach, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import postgres, { type Sql } from 'postgres'
import { erasePerson, removeTombstone } from '../../../src/erasure/erase.ts'
import { useTestDatabase } from '../../support/hooks.ts'
import { importLines } from '../../support/import.ts'
import { Floors, holds } from '../../support/property.ts'
import { anyWrite, reset, write } from './world.ts'

/** When the version of the export changes: in each transaction that changes a list or erases somebody, and in no other. */

const database = useTestDatabase()
beforeEach(() => reset(database.sql, 120))

const versionOf = async (sql: Sql = database.sql) =>
  (await sql<{ version: string }[]>`select version from export_version`)[0]?.version

/** Whether `work` has changed the version. */
async function isRenewedBy(work: () => Promise<unknown>): Promise<boolean> {
  const before = await versionOf()
  await work()
  return (await versionOf()) !== before
}

const run = (statement: string) => () => database.sql.unsafe(statement)

const SECOND_PART = `insert into assessment_parts values (15, 10, 2, 'Second', '2025-01-01', 3)`
const PERSON = `insert into users values (77, 'New Person', 'New', 'Person', '', null, 'active')`

describe('the version changes', () => {
  test.each([
    ['when a record changes its day', `update assessments set certified_at = now() where id = 10`],
    ['when a record is deleted', 'delete from assessments where id = 20'],
    ['when the last part of a record is deleted', 'delete from assessment_parts where id = 30'],
    [
      'when a record comes',
      `insert into assessments values (7777, 1, 1, 1, now(), false);
      insert into assessment_parts values (7777, 7777, 1, null, null, 1)`,
    ],
    ['when a record moves', 'update assessments set organization_id = 6 where id = 10'],
    ['when a part has another proctor', 'update assessment_parts set proctor_id = 2 where id = 50'],
    ['when a product is renamed', `update products set name = 'New' where id = 1`],
    [
      'when a name of an educator changes that only search looks at',
      `update users set first_name = 'Q' where id = 1`,
    ],
    ['when the sort name of an educator changes', `update users set name = 'Q' where id = 1`],
    ['when an educator is archived', `update users set record_status = 'archived' where id = 2`],
    ['when an educator gets another seid', `update users set seid = 'S' where id = 2`],
    ['when the read model itself is written', 'update export_records set certified_on = now() where id = 10'],
    [
      'when the read model itself is merged',
      `merge into export_records r using (values (10)) as of (id) on r.id = of.id when matched then delete`,
    ],
    ['when the records are truncated', 'truncate export_records'],
    ['when the names of people are truncated', 'truncate export_people'],
    ['when the names of products are truncated', 'truncate export_products'],
    ['when the source tables are truncated', 'truncate assessments cascade'],
    ['when the time zone moves a day', `update export_state set time_zone = 'Pacific/Niue'`],
    ['when a writer past the triggers says so', 'select renew_export_version()'],
  ])('%s', async (_, statement) => {
    expect(await isRenewedBy(run(statement))).toBe(true)
  })

  test('when an import changes a record, and not when it finds all as it is', async () => {
    const line = { type: 'assessment', user_id: 1, product_id: 1, certified_at: '2025-05-05', proctor_id: 1 }
    const load = () => importLines(database.sql, { ...line, id: 8001, organization_id: 1 })
    expect(await isRenewedBy(load)).toBe(true)
    expect(await isRenewedBy(load)).toBe(false)
  })
})

test('the version changes when an erasure changes a row, and not when a load finds nobody who was erased', async () => {
  await database.sql.unsafe(
    `${PERSON}; ${SECOND_PART}; update assessment_parts set proctor_id = 77 where id = 15`,
  )
  const options = { dryRun: false, onWait: () => {} }
  const remove = run('select remove_people(array(select user_id from erasures))')
  expect(await isRenewedBy(() => erasePerson(database.sql, '77', { ...options, dryRun: true }))).toBe(false)
  expect(await isRenewedBy(() => erasePerson(database.sql, '77', options))).toBe(true)
  expect(await isRenewedBy(remove)).toBe(false)
  await database.sql`update users set name = 'New Person' where id = 77`
  expect(await isRenewedBy(remove)).toBe(true)
  expect(await isRenewedBy(() => removeTombstone(database.sql, '77', options.onWait))).toBe(true)
  expect(await isRenewedBy(() => removeTombstone(database.sql, '77', options.onWait))).toBe(false)
})

describe('the version stays', () => {
  test.each([
    ['when an email address changes', `update users set email = 'new@example.org' where id = 1`],
    ['when the name of an organization changes', `update organizations set name = 'New'`],
    ['when a rename changes nothing', 'update users set name = name'],
    ['when no record changes', 'update assessments set user_id = user_id'],
    ['when no row matches', 'delete from assessments where id = -1'],
    ['when a person comes', PERSON],
    [
      'when a person without records is renamed',
      `${PERSON}; update users set first_name = 'Q' where id = 77`,
    ],
    ['when a person without records goes', `${PERSON}; delete from users where id = 77`],
    [
      'when a product comes, and is renamed',
      `insert into products values (77, 'New'); update products set name = 'Q' where id = 77`,
    ],
  ])('%s', async (_, statement) => {
    expect(await isRenewedBy(run(statement))).toBe(false)
  })

  test('when the name of a part changes', async () => {
    await database.sql.unsafe(SECOND_PART)
    expect(await isRenewedBy(run(`update assessment_parts set name = 'New part' where id = 15`))).toBe(false)
  })
})

describe('the version', () => {
  const LISTED = `id, organization_id, product_id, user_id, seid, is_archived, legacy_record, proctor_ids, certified_on,
    user_name_key, proctor_name_key, product_name_key`
  const lists = async () =>
    JSON.stringify(
      await database.sql.unsafe(
        `select ${LISTED}, names_key, name_key from export_records
         left join export_people using (user_id) left join export_products using (product_id) order by id`,
      ),
    )

  test('changes when any list does, for any write, and after a roll-back it is the former one', async () => {
    const floors = new Floors({ 'changed lists': 0.3, 'kept lists': 0.03 })
    await holds(
      fc.asyncProperty(anyWrite, async next => {
        const [before, version] = [await lists(), await versionOf()]
        await write(database.sql, next)
        const isSame = (await lists()) === before
        floors.reached(isSame ? 'kept lists' : 'changed lists')
        if (!isSame) expect(await versionOf()).not.toBe(version)
      }),
      { runs: 20, thorough: 60, floors },
    )
    const undone = database.sql
      .begin(async sql => {
        await sql`delete from assessments where organization_id = 1`
        throw new Error('undone')
      })
      .catch(() => {})
    expect(await isRenewedBy(() => undone)).toBe(false)
  })

  test('is written once in a transaction of many statements', async () => {
    const written = async (sql: Sql) =>
      (
        await sql<{ count: number }[]>`
          select (n_tup_ins + n_tup_upd)::integer as count from pg_stat_xact_user_tables where relname = 'export_version'`
      )[0]?.count
    await database.sql.begin(async sql => {
      // The view also counts what this backend has not yet reported from earlier transactions.
      const before = (await written(sql as unknown as Sql)) ?? 0
      for (let id = 10; id <= 100; id += 10)
        await sql`update assessments set legacy_record = not legacy_record where id = ${id}`
      expect(await written(sql as unknown as Sql)).toBe(before + 1)
    })
  })

  test('is written again after a savepoint before it was rolled back to', async () => {
    const change = 'update assessments set legacy_record = not legacy_record where id = 10'
    const inTransaction = (statements: string) => () => database.sql.begin(sql => sql.unsafe(statements))
    expect(await isRenewedBy(inTransaction(`savepoint a; ${change}; rollback to a`))).toBe(false)
    expect(await isRenewedBy(inTransaction(`savepoint a; ${change}; rollback to a; ${change}`))).toBe(true)
    expect(await isRenewedBy(inTransaction(`${change}; savepoint a; ${change}; rollback to a`))).toBe(true)
    expect(await isRenewedBy(inTransaction(`savepoint a; ${change}; release a; ${change}`))).toBe(true)
    const inBlock = `do $$ begin begin ${change}; raise 'undone'; exception when others then null; end; ${change}; end $$`
    expect(await isRenewedBy(run(inBlock))).toBe(true)
  })

  test('comes back with the next change if its row was deleted', async () => {
    await database.sql`delete from export_version`
    await database.sql`delete from assessments where id = 10`
    expect(await versionOf()).toBeString()
  })

  test('has the time when it was made', async () => {
    const [before] = await database.sql<{ now: string }[]>`select clock_timestamp()::text as now`
    await database.sql`delete from assessments where id = 10`
    const [row] = await database.sql<{ isNew: boolean }[]>`
      select made_at between ${before?.now ?? ''}::timestamptz and clock_timestamp() as "isNew" from export_version`
    expect(row?.isNew).toBe(true)
  })

  test('is committed by one writer at a time; of two in REPEATABLE READ, the second fails', async () => {
    const [one, other] = [database.url, database.url].map(url =>
      postgres(url, { max: 1, onnotice: () => {} }),
    )
    if (!one || !other) throw new Error('no clients')
    try {
      for (const client of [one, other]) await client`begin isolation level repeatable read`
      for (const client of [one, other]) await client`select version from export_version`
      await one`update assessments set legacy_record = not legacy_record where id = 10`
      const second = other`update assessments set legacy_record = not legacy_record where id = 20`.then(
        () => 'written',
        ({ code }) => code,
      )
      await one`commit`
      expect(await second).toBe('40001')
    } finally {
      await Promise.all([one.end(), other.end()])
    }
  })
})

test('a writer needs no privilege on the version, which is written with the privileges of its owner', async () => {
  const undone = new Error('undone')
  const writing = database.sql.begin(async sql => {
    await sql.unsafe(`create role version_writer;
      grant select, insert, update, delete on all tables in schema public to version_writer;
      revoke all on export_version from version_writer;
      set local role version_writer`)
    await sql`delete from assessments where id = 10`
    throw undone
  })
  await expect(writing).rejects.toBe(undone)
})
