import { describe, expect, test } from 'bun:test'
import { StatementTimeout } from '../../src/database/failures.ts'
import { AnswerProxy } from '../support/answer-proxy.ts'
import { ask, logged, NO_LOG, pidOf, usePools } from '../support/pool.ts'
import { until } from '../support/until.ts'
import { FOUND, LOST } from '../support/wordings.ts'

const { database, open, closing } = usePools()

test('a statement whose process is frozen while it works fails at its deadline, and leaves its connection to nobody', async () => {
  const db = await open({ size: 1, statementMs: 1500 })
  const pid = await pidOf(db)
  const late = ask(db, 'select pg_sleep(20)')
  await until('it runs', async () => {
    const { count } = await database.sql`
      select from pg_stat_activity where pid = ${pid} and wait_event = 'PgSleep'`
    return count
  })
  process.kill(pid, 'SIGSTOP')
  try {
    await expect(late).rejects.toBeInstanceOf(StatementTimeout)
    expect(db.stats().inUse).toBe(1)
    expect(await pidOf(db)).not.toBe(pid)
  } finally {
    process.kill(pid, 'SIGCONT')
  }
})

describe('a server', () => {
  test('that answers slowly is found again, and the log has one line for its loss and one for its return', async () => {
    const { lines, log } = logged()
    const proxy = await AnswerProxy.start(database.url)
    closing.push(() => proxy.stop())
    const db = await open({}, log, proxy.url)
    await pidOf(db)
    let isGone = true
    proxy.passes = async () => !isGone
    await until('it is lost', async () => {
      await pidOf(db).catch(() => {})
      return lines.length > 0
    })
    isGone = false
    proxy.passes = async () => {
      await Bun.sleep(600)
      return true
    }
    await until('it is found', () => lines.length > 1)
    expect(lines).toEqual([LOST, FOUND])
  })

  test('is another one when the URL is, and stays if the new URL leads to none', async () => {
    const { lines, log } = logged()
    let url = `${database.url}?application_name=one`
    const db = await open({}, log, () => url)
    const name = async () => (await ask(db, 'show application_name'))[0]?.application_name
    expect(await name()).toBe('one')
    url = `${database.url}?application_name=two`
    await until('the new URL is used', async () => (await name()) === 'two')
    url = 'postgres://nobody@127.0.0.1:1/none'
    await until('the log says that it leads to none', () => lines.length > 0)
    expect(lines).toEqual(['the new database URL cannot be used: the last one stays in use'])
    expect(await name()).toBe('two')
  })

  test('gets the password that the URL has when a connection is opened', async () => {
    const { sql } = database
    await sql`drop role if exists changing`
    await sql`create role changing login password 'one'`
    let url = database.url.replace(/\/\/.*@/, '//changing:one@')
    const db = await open({ size: 2 }, NO_LOG, () => url)
    closing.push(async () => await sql`drop role changing`)
    const first = await pidOf(db)
    await sql`alter role changing password 'two'`
    // A second connection is refused, and both statements share the first one.
    const both = () => Promise.all([ask(db, 'select pg_backend_pid() as pid from pg_sleep(0.1)'), pidOf(db)])
    const [[one], other] = await both()
    expect([one?.pid, other]).toEqual([first, first])
    url = url.replace(':one@', ':two@')
    await until(
      'both have a connection',
      async () => {
        const [[one], other] = await both()
        return one?.pid !== other
      },
      20_000,
    )
  })

  test('that is a former primary is not used any more', async () => {
    const { lines, log } = logged()
    const { sql, url } = database
    const name = new URL(url).pathname.slice(1)
    const db = await open({}, log, `${url}?target_session_attrs=read-write`)
    await pidOf(db)
    await sql.unsafe(`alter database ${name} set default_transaction_read_only = on`)
    await sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`
    await until('it is lost', () => lines.includes(LOST))
    await expect(ask(db, 'select 1')).rejects.toThrow('no server of those in DATABASE_URL')
    await sql.unsafe('set default_transaction_read_only = off')
    await sql.unsafe(`alter database ${name} reset default_transaction_read_only`)
    await until('it is found', () => lines.includes(FOUND))
    expect(await ask(db, 'select 1 as one')).toEqual([{ one: 1 }])
  })
})
