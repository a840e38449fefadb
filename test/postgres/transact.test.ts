import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { RolledBack, UncertainFailure } from '../../src/errors.ts'
import { Interruption } from '../../src/interruption.ts'
import { type Database, openDatabase } from '../../src/postgres/database.ts'
import { transact } from '../../src/postgres/transaction/transact.ts'
import { CommitProxy, type Cut } from '../support/commit-proxy.ts'
import { useTestDatabase } from '../support/hooks.ts'

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
/** Opens the database through the proxy, which cuts the next COMMIT. */
async function open(cut: Cut | undefined, meanwhile?: () => Promise<void> | void): Promise<void> {
  proxy.cutAt(undefined)
  interruption = new Interruption()
  database = await openDatabase(proxy.url, 2, interruption)
  proxy.cutAt(cut, meanwhile)
  ids++
}
afterEach(async () => {
  proxy.cutAt(undefined)
  await database.close()
})

/** Writes a row in a transaction, and says how that ended. */
async function write(statement = 'select'): Promise<string> {
  const id = ids
  try {
    const result = await transact(database.sql, async sql => {
      await sql`insert into written (id) values (${id})`
      await sql.unsafe(statement)
      return id
    })
    expect(result).toBe(id)
    return 'committed'
  } catch (error) {
    if (error instanceof RolledBack) return 'rolled back'
    if (!(error instanceof UncertainFailure)) throw error
    expect(error.result).toBe(id)
    return `${error.outcome}: ${error.message}`
  }
}

/** Whether the row is there, and whether its transaction still runs. */
async function state(): Promise<string> {
  const rows = await target.sql`select from written where id = ${ids}`
  const open = await target.sql`
    select from pg_stat_activity where datname = current_database() and backend_xid is not null`
  return `${rows.count === 1 ? 'there' : 'not there'}, ${open.count} open`
}

describe('a transaction whose connection is cut', () => {
  test.each<[Cut, string]>([
    ['before COMMIT arrives', 'rolled back'],
    ['before COMMIT arrives, half-open', 'rolled back'],
    ['in the middle of COMMIT, half-open', 'rolled back'],
    ['before the answer arrives', 'committed'],
  ])('%s is %s', async (cut, outcome) => {
    await open(cut)
    expect(await write()).toBe(outcome)
    expect(await state()).toBe(`${outcome === 'committed' ? 'there' : 'not there'}, 0 open`)
  })

  test('when COMMIT arrives is reported as it is', async () => {
    await open('when COMMIT arrives')
    const outcome = await write()
    expect(await state()).toBe(`${outcome === 'committed' ? 'there' : 'not there'}, 0 open`)
  })

  test('while a deferred trigger runs in its COMMIT is waited for', async () => {
    await target.sql.unsafe(`
      create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(2); return null; end $$;
      create constraint trigger slow after insert on written deferrable initially deferred
        for each row execute function slow()`)
    await open('before COMMIT arrives, half-open')
    proxy.cutAt('never, and no answer arrives')
    const writing = write()
    await proxy.reached
    await Bun.sleep(300)
    interruption.request()
    expect(await writing).toBe('committed')
    expect(await state()).toBe('there, 0 open')
    await target.sql`drop trigger slow on written`
  })
})
