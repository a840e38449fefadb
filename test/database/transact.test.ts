import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { type Database, openDatabase } from '../../src/database/database.ts'
import { verdictOn } from '../../src/database/failures.ts'
import { transact } from '../../src/database/transact.ts'
import { UncertainFailure } from '../../src/errors.ts'
import { Interruption } from '../../src/interruption.ts'
import { CommitProxy, type Cut } from '../support/commit-proxy.ts'
import { useTestDatabase } from '../support/hooks.ts'
import { until } from '../support/until.ts'

const target = useTestDatabase()
let proxy: CommitProxy
let database: Database
let interruption: Interruption
beforeAll(async () => {
  proxy = await CommitProxy.start(target.url)
  await target.sql`create table written (id integer primary key)`
})
afterAll(() => proxy.stop())

let ids = 0
/** Opens the database through the proxy, which cuts the next transaction. */
async function open(cut: Cut | undefined): Promise<void> {
  proxy.cutAt(undefined)
  interruption = new Interruption()
  database = await openDatabase(proxy.url, 2, interruption)
  proxy.cutAt(cut)
  ids++
}
afterEach(async () => {
  proxy.cutAt(undefined)
  await database.close()
})

/** Writes a row in a transaction, and says how that ended. */
async function write(): Promise<string> {
  const id = ids
  try {
    const result = await transact(database.sql, async sql => {
      await sql`insert into written (id) values (${id})`
      return id
    })
    expect(result).toBe(id)
    return 'committed'
  } catch (error) {
    if (!(error instanceof UncertainFailure)) return verdictOn(error)
    expect(error.result).toBe(id)
    return 'not known'
  }
}

/** Whether the row is there once no transaction runs any more. */
async function isThere(): Promise<boolean> {
  await until('no transaction runs', async () => {
    const open = await target.sql`
      select from pg_stat_activity where datname = current_database() and backend_xid is not null`
    return open.count === 0
  })
  return (await target.sql`select from written where id = ${ids}`).count === 1
}

test('a transaction is READ COMMITTED', async () => {
  await open(undefined)
  const [row] = await transact(database.sql, sql => sql`show transaction_isolation`)
  expect(row).toEqual({ transaction_isolation: 'read committed' })
  expect(interruption.commit).toBe('done')
})

test.each([
  ['off', 'local'],
  ['remote_apply', 'remote_apply'],
])('COMMIT under synchronous_commit = %s has %s', async (before, at) => {
  await open(undefined)
  await target.sql.unsafe(`
    create table noted (setting text);
    create function note() returns trigger language plpgsql as $$
    begin insert into noted select current_setting('synchronous_commit'); return null; end $$;
    create constraint trigger note after insert on written deferrable initially deferred
      for each row execute function note()`)
  await transact(database.sql, async sql => {
    await sql`select set_config('synchronous_commit', ${before}, true)`
    await sql`insert into written (id) values (${ids})`
  })
  const [noted] = await target.sql`select setting from noted`
  expect(noted).toEqual({ setting: at })
  await target.sql`drop function note() cascade`
  await target.sql`drop table noted`
})

describe('a transaction whose connection is cut', () => {
  test.each<[Cut, boolean]>([
    ['before COMMIT arrives', false],
    ['before the answer arrives', true],
  ])('%s is not known', async (cut, there) => {
    await open(cut)
    expect(await write()).toBe('not known')
    expect(interruption.commit).toBe('sent')
    expect(await isThere()).toBe(there)
  })

  test('by a signal, while COMMIT runs, is not known', async () => {
    await open('never, and no answer arrives')
    const writing = write()
    await proxy.reached
    interruption.request()
    expect(await writing).toBe('not known')
    expect(await isThere()).toBe(true)
  })
})

test('a COMMIT that the server refuses is told as such, and has changed nothing', async () => {
  await open(undefined)
  await target.sql.unsafe(`
    create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
    create constraint trigger refuse after insert on written deferrable initially deferred
      for each row execute function refuse()`)
  expect(await write()).toBe('unforeseen')
  expect(interruption.commit).toBe('none')
  expect(await isThere()).toBe(false)
  await target.sql`drop trigger refuse on written`
})

test('a transaction that is interrupted before COMMIT is not committed', async () => {
  await open(undefined)
  const written = transact(database.sql, async sql => {
    await sql`insert into written (id) values (${ids})`
    interruption.request()
  })
  expect(await written.catch(verdictOn)).toBe('cut')
  expect(await isThere()).toBe(false)
})
