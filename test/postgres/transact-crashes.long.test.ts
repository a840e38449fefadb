// What becomes of a COMMIT when the server crashes, is replaced, or waits for a standby.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { RolledBack, UncertainFailure } from '../../src/errors.ts'
import { Interruption } from '../../src/interruption.ts'
import { openDatabase } from '../../src/postgres/database.ts'
import { migrate } from '../../src/postgres/schema/migrate.ts'
import { transact } from '../../src/postgres/transaction/transact.ts'
import { CommitProxy, type Cut } from '../support/commit-proxy.ts'
import { type OwnCluster, startCluster } from '../support/own-cluster.ts'
import { until } from '../support/until.ts'
import { withConnection } from '../support/with-connection.ts'

setDefaultTimeout(180_000)

let cluster: OwnCluster
let proxy: CommitProxy
beforeAll(async () => {
  // Only a commit flushes the WAL.
  cluster = await startCluster({ settings: { wal_writer_delay: '10s' } })
  const { sql, close } = await openDatabase(cluster.url(), 1)
  await migrate(sql)
  await sql`create table written (id integer primary key)`
  await close()
  proxy = await CommitProxy.start(cluster.url())
})
afterAll(async () => {
  await proxy.stop()
  await cluster.stop()
})

const ask = (text: string, url = cluster.url()) => withConnection(url, sql => sql.unsafe(text))
const isThere = async (id: number, url?: string) =>
  (await ask(`select from written where id = ${id}`, url)).count === 1

/** Whether a COMMIT waits for a standby. */
const isWaiting = async () =>
  (await ask(`select from pg_stat_activity where wait_event = 'SyncRep'`)).count > 0

/** Writes a row through a proxy, and says how that ended. The COMMIT is interrupted, or its connection cut. */
async function write(
  id: number,
  cut: Cut | undefined,
  {
    meanwhile,
    interrupts = false,
    beforeCommit = 'select',
    through = proxy,
  }: {
    meanwhile?: (interruption: Interruption) => Promise<void>
    interrupts?: boolean
    beforeCommit?: string
    through?: CommitProxy
  } = {},
): Promise<{ outcome: string; xid: string }> {
  through.cutAt(undefined)
  const interruption = new Interruption()
  const { sql, close } = await openDatabase(through.url, 1, interruption)
  through.cutAt(cut, () => meanwhile?.(interruption))
  let xid = ''
  const written = transact(sql, async transaction => {
    await transaction`insert into written (id) values (${id})`
    const [row] = await transaction<{ xid: string }[]>`select pg_current_xact_id()::text as xid`
    xid = row?.xid ?? ''
    await transaction.unsafe(beforeCommit)
  })
  const ended = written.then(
    () => 'committed',
    error => {
      if (error instanceof RolledBack) return 'rolled back'
      if (error instanceof UncertainFailure) return `${error.outcome}: ${error.message}`
      throw error
    },
  )
  if (interrupts) {
    await until('the COMMIT waits', isWaiting)
    interruption.request()
  }
  const outcome = await ended
  await close()
  return { outcome, xid }
}

describe('after a crash of the server', () => {
  const crash = async () => {
    await cluster.crash()
    await cluster.restart()
  }

  test('a transaction that was committed before is reported as committed', async () => {
    expect((await write(1, 'before the answer arrives', { meanwhile: crash })).outcome).toBe('committed')
    expect(await isThere(1)).toBe(true)
  })

  test('a transaction that was lost is reported as rolled back, even if its number was given to another that was committed', async () => {
    const { outcome, xid } = await write(2, 'before COMMIT arrives, half-open', {
      meanwhile: async () => {
        await crash()
        await ask('do $$ begin for i in 1..50 loop perform pg_current_xact_id(); commit; end loop; end $$')
      },
    })
    const [row] = await ask(`select pg_xact_status('${xid}'::xid8) as status`)
    expect(row?.status).toBe('committed')
    expect(outcome).toBe('rolled back')
    expect(await isThere(2)).toBe(false)
  })

  test('what is reported as committed was flushed, although synchronous_commit is off', async () => {
    await ask('alter database postgres set synchronous_commit = off')
    expect((await write(3, undefined)).outcome).toBe('committed')
    await cluster.crash()
    await cluster.restart()
    await ask('alter database postgres reset synchronous_commit')
    expect(await isThere(3)).toBe(true)
  })
})

describe('while no standby confirms a COMMIT', () => {
  const confirmBy = async (names: string) => {
    await ask(`alter system set synchronous_standby_names = '${names}'`)
    await ask('select pg_reload_conf()')
    await until('the setting is read', async () => {
      const [row] = await ask('show synchronous_standby_names')
      return row?.synchronous_standby_names === names
    })
  }
  beforeAll(() => confirmBy('nobody'))
  afterAll(() => confirmBy(''))

  const waits = async () => void (await until('the COMMIT waits', isWaiting))
  const end = (how: string) => async () => {
    await waits()
    await ask(`select ${how}(pid) from pg_stat_activity where wait_event = 'SyncRep'`)
  }
  const UNCONFIRMED = /^unconfirmed: cancell?ing (the )?wait for synchronous replication/

  test('an interrupted one is unconfirmed', async () => {
    const { outcome } = await write(10, undefined, { interrupts: true })
    expect(outcome).toBe('unconfirmed: it waits for a standby')
    await end('pg_cancel_backend')()
    expect(await isThere(10)).toBe(true)
  })

  test('one whose connection is cut is unconfirmed after 30 seconds, and unknown when nothing answers for as long', async () => {
    const through = await CommitProxy.start(cluster.url())
    const isDown = async () => {
      through.isDown = true
    }
    const start = performance.now()
    const timed = async (written: ReturnType<typeof write>) => {
      const { outcome } = await written
      expect(performance.now() - start).toBeGreaterThan(29_000)
      return outcome
    }
    const outcomes = await Promise.all([
      timed(write(11, 'when COMMIT arrives', { meanwhile: waits })),
      timed(write(40, 'when COMMIT arrives', { meanwhile: isDown, through })),
    ])
    expect(outcomes).toEqual([
      'unconfirmed: it waits for a standby',
      'unknown: the database cannot be asked: it closes connections',
    ])
    await end('pg_cancel_backend')()
    await through.stop()
  })

  test.each([
    ['pg_cancel_backend', 'select', 12],
    ['pg_terminate_backend', 'select', 13],
    ['pg_cancel_backend', `set client_min_messages = 'error'`, 14],
  ] as const)('one whose wait is ended by %s is unconfirmed (after %s)', async (how, beforeCommit, id) => {
    const ended = end(how)()
    expect((await write(id, undefined, { beforeCommit })).outcome).toMatch(UNCONFIRMED)
    await ended
    expect(await isThere(id)).toBe(true)
  })

  test('one that is confirmed while it is asked for is committed', async () => {
    let confirmed: Promise<void> | undefined
    const meanwhile = async () => {
      await waits()
      confirmed = Bun.sleep(1000).then(() => confirmBy(''))
    }
    expect((await write(15, 'when COMMIT arrives', { meanwhile })).outcome).toBe('committed')
    await confirmed
    await confirmBy('nobody')
  })
})

describe('when another server answers than the one that was written', () => {
  test('a promoted standby that did not get the commit says that it is rolled back, and one that did that it is committed', async () => {
    for (const [id, isReplicated, expected] of [
      [20, true, 'committed'],
      [21, false, 'rolled back'],
    ] as const) {
      const standby = await cluster.startStandby()
      if (!isReplicated) await standby.shutDown()
      const meanwhile = async () => {
        if (isReplicated) await until('the standby has the row', () => isThere(id, standby.url()))
        await cluster.crash()
        if (!isReplicated) await standby.restart()
        await standby.promote()
        proxy.redirect(standby.url())
      }
      expect((await write(id, 'before the answer arrives', { meanwhile })).outcome).toBe(expected)
      expect(await isThere(id, standby.url())).toBe(isReplicated)
      await standby.stop()
      await cluster.restart()
      proxy.redirect(cluster.url())
    }
  })

  test('it is not known from a standby that has not replayed the commit, nor from another cluster', async () => {
    const standby = await cluster.startStandby()
    // Clusters of one locale are copies with one system identifier, so this one needs another locale.
    const other = await startCluster({ locale: 'C.UTF-8' })
    await ask(`alter role postgres password '${new URL(cluster.url()).password}'`, other.url())
    await ask('select pg_wal_replay_pause()', standby.url())
    const answer = async (by: OwnCluster, id: number) => {
      const through = await CommitProxy.start(cluster.url())
      const meanwhile = async (interruption: Interruption) => {
        through.redirect(by.url())
        interruption.request()
      }
      const { outcome } = await write(id, 'before the answer arrives', { meanwhile, through })
      await through.stop()
      return outcome
    }
    expect(await Promise.all([answer(standby, 30), answer(other, 31)])).toEqual([
      'unknown: only a standby answers',
      'unknown: another database cluster answers in place of the one that was written',
    ])
    await other.stop()
    const meanwhile = async () => {
      proxy.redirect(standby.url())
      await ask('select pg_wal_replay_resume()', standby.url())
    }
    expect((await write(32, 'before the answer arrives', { meanwhile })).outcome).toBe('committed')
    proxy.redirect(cluster.url())
    await standby.stop()
  })
})
