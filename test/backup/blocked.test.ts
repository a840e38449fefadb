import { expect, test } from 'bun:test'
import { join } from 'node:path'
import postgres from 'postgres'
import { checkArchive } from '../../src/backup/read.ts'
import { KEPT } from '../../src/backup/tables.ts'
import { openDatabase } from '../../src/postgres/database.ts'
import { emptyFolder } from '../support/executable.ts'
import { useTestDatabase } from '../support/hooks.ts'
import { until } from '../support/until.ts'
import { backUpTo } from './worlds.ts'

const source = useTestDatabase()
const first = KEPT[0]?.table ?? ''
const last = KEPT.at(-1)?.table ?? ''

/** Resolves when so many sessions wait for a lock of a table. */
const waiting = (count: number) =>
  until(`${count} wait`, async () => {
    const { count: found } = await source.sql`
      select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
    return found === count
  })

/** Backs up while another session has locked the last table, and does more meanwhile. */
async function backUpBeside(
  url: string,
  more: (other: postgres.ReservedSql) => Promise<void>,
): Promise<void> {
  const client = postgres(source.url, { max: 1 })
  const other = await client.reserve()
  const db = await openDatabase(url, 1)
  try {
    await other`begin`
    await other`lock table ${other(last)} in access exclusive mode`
    const file = join(emptyFolder(), 'axport.backup')
    const backup = backUpTo(file, db.sql)
    await waiting(1)
    await more(other)
    await backup
    expect((await checkArchive(file)).rows).toBeDefined()
  } finally {
    other.release()
    await client.end()
    await db.close()
  }
}

test('a backup begins again after a deadlock', async () => {
  await backUpBeside(source.url, async other => {
    // The backup has waited for longer, and so it is the one that finds the deadlock and is ended.
    await other`lock table ${other(first)} in access exclusive mode`
    await other`rollback`
  })
})

test('a backup begins again after a lock timeout', async () => {
  const url = new URL(source.url)
  url.searchParams.set('lock_timeout', '100')
  await backUpBeside(url.href, async other => {
    await Bun.sleep(500)
    await other`rollback`
  })
})
