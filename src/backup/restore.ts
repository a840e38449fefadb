import type { TransactionSql } from 'postgres'
import { SOURCE_TABLES } from '../../db/schema.ts'
import { migrate } from '../postgres/schema/migrate.ts'
import { type CommandSql, transact } from '../postgres/transaction/transact.ts'
import { startBulkLoad } from '../tables/bulk.ts'
import { readDisclosing, writeDisclosing } from '../tables/disclosing.ts'
import { acquireLoadLock, configureLoad, requireTriggers } from '../tables/load-session.ts'
import { vacuum } from '../tables/vacuum.ts'
import type { Header } from './archive.ts'
import { requireEmpty } from './empty.ts'
import { leaveOutErased, putErasuresAside } from './erased.ts'
import { loadRows } from './load.ts'

/** The progress of a restore. */
export type Progress =
  | { phase: 'waiting' }
  | { phase: 'loading'; done: number; total: number }
  | { phase: 'rendering'; done: number; total: number }
  | { phase: 'indexing' }
  /** Everything is committed; VACUUM makes reading fast. */
  | { phase: 'tidying' }

interface Control {
  onProgress(progress: Progress): void
}

/**
 * Restores a backup into a database without data: all of it, or nothing. The schema is created or migrated before. The
 * read model is rendered as by a first import, and logged, so that page memories of servers become invalid. People who were
 * erased, in the backup or in the database, are left out.
 * @param header the result of checkArchive()
 * @returns the number of erased people who were left out
 * @throws Failure for a database that has data, or a file that has changed since it was checked; as transact()
 */
export async function restore(
  db: CommandSql,
  path: string,
  header: Header,
  { onProgress }: Control,
): Promise<number> {
  await requireEmpty(db)
  await migrate(db)
  const erased = await transact(db, async sql => {
    await acquireLoadLock(sql, () => onProgress({ phase: 'waiting' }))
    await requireTriggers(sql)
    await lockOutWriters(sql)
    await requireEmpty(sql)
    return await restoreInto(sql, path, header, onProgress)
  })
  onProgress({ phase: 'tidying' })
  await vacuum(db, CHANGED)
  return erased
}

/** The tables that a restore fills. */
const CHANGED = [
  ...SOURCE_TABLES,
  ...['integrations', 'integration_secrets', 'export_records', 'export_people', 'export_products'],
  ...['export_counts', 'export_changes'],
]

/** Makes imports and provisioning wait for the end of this transaction. */
async function lockOutWriters(sql: TransactionSql): Promise<void> {
  await sql`lock table integrations, integration_secrets in share row exclusive mode`
  await sql`select lock_export()`
}

async function restoreInto(
  sql: TransactionSql,
  path: string,
  header: Header,
  onProgress: Control['onProgress'],
): Promise<number> {
  // Before the rows: a change of the time zone renders all records.
  await sql`
    update export_state
    set time_zone = ${header.time_zone}, last_import_at = ${header.last_import_at}::text::timestamptz`
  // Recording that is on stays as it is: an operator may have set it for this restore.
  const { isOn, kept } = header.disclosures ?? {}
  const present = await readDisclosing(sql)
  if (kept !== undefined && !present?.isOn) await writeDisclosing(sql, { kept, ...(isOn && { isOn }) })
  await configureLoad(sql)
  const { assessments = 0 } = header.rows
  await putErasuresAside(sql)
  const relief = await startBulkLoad(sql, assessments)
  await loadRows(sql, path, header, (done, total) => onProgress({ phase: 'loading', done, total }))
  onProgress({ phase: 'indexing' })
  const erased = await leaveOutErased(sql)
  await relief.finish((done, total) =>
    onProgress(done < total ? { phase: 'rendering', done, total } : { phase: 'indexing' }),
  )
  return erased
}
