import type { Sql, TransactionSql } from 'postgres'
import { readDisclosing, writeDisclosing } from '../postgres/disclosing.ts'
import { startBulkLoad } from '../postgres/schema/bulk.ts'
import { acquireLoadLock, configureLoad, requireTriggers } from '../postgres/schema/load-session.ts'
import { migrate } from '../postgres/schema/migrate.ts'
import type { Header } from './archive.ts'
import { requireEmpty } from './empty.ts'
import { leaveOutErased, putErasuresAside } from './erased.ts'
import { loadRows } from './load.ts'

/** How far a restore is. */
export type Progress =
  | { phase: 'waiting' }
  | { phase: 'loading'; done: number; total: number }
  | { phase: 'rendering'; done: number; total: number }
  | { phase: 'indexing' }
  /** All is there for good; what is left makes reading it fast. */
  | { phase: 'tidying' }

/** How a restore is watched, and ended. */
interface Watcher {
  onProgress(progress: Progress): void
  /** Ends it, and leaves the database empty. */
  signal: AbortSignal
}

/**
 * Restores a backup into a database without data: all of it, or nothing. The schema is brought up to date before, or
 * made. What requests read is rendered as by a first import, and logged: whatever a server remembers of another
 * history does not hold. Who was erased, in the backup or in the database, is left out.
 * @param header what checkArchive() found in the file
 * @returns how many erased people were left out
 * @throws Failure for a database that has data, or a file that has changed since it was checked
 */
export async function restore(
  db: Sql,
  path: string,
  header: Header,
  { onProgress, signal }: Watcher,
): Promise<number> {
  // Only the end of its connection ends it in the middle of a statement.
  const end = () => void db.end({ timeout: 0 }).catch(() => {})
  signal.addEventListener('abort', end)
  let erased = 0
  try {
    await requireEmpty(db)
    await migrate(db)
    await db.begin(async sql => {
      await acquireLoadLock(sql, () => onProgress({ phase: 'waiting' }))
      await requireTriggers(sql)
      await keepOthersOut(sql)
      await requireEmpty(sql)
      erased = await restoreInto(sql, path, header, onProgress)
    })
  } finally {
    signal.removeEventListener('abort', end)
  }
  onProgress({ phase: 'tidying' })
  await db`
    vacuum (analyze) organizations, products, users, assessments, assessment_parts, integrations,
      integration_secrets, export_records, export_people, export_products, export_counts,
      export_changes`
  return erased
}

/** Whoever writes source tables queues behind this transaction from now on, and whoever provisions. */
async function keepOthersOut(sql: TransactionSql): Promise<void> {
  await sql`lock table integrations, integration_secrets in share row exclusive mode`
  await sql`select lock_export()`
}

async function restoreInto(
  sql: TransactionSql,
  path: string,
  header: Header,
  onProgress: Watcher['onProgress'],
): Promise<number> {
  // First: a change of the time zone renders what there is.
  await sql`
    update export_state
    set time_zone = ${header.time_zone}, last_import_at = ${header.last_import_at}::text::timestamptz`
  // A record that is on stays as it is: it may have been switched on, and its keeping set, for this very restore.
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
