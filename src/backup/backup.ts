import type { Sql, TransactionSql } from 'postgres'
import { Failure } from '../errors.ts'
import type { Write } from '../files.ts'
import { isBlocked } from '../postgres/failures.ts'
import { readDisclosing } from '../tables/disclosing.ts'
import { type Batch, FORMAT, type Header } from './archive.ts'
import { columnsOf } from './columns.ts'
import { readRows } from './statements.ts'
import { KEPT } from './tables.ts'
import { writeArchive } from './write.ts'

/** Takes the number of rows read so far, of all rows. */
type OnRows = (done: number, total: number) => void

/** How long a backup is repeated that gets no lock, and how long it pauses before. */
const LOCK_TIMEOUT_MS = 300_000
const PAUSE_MS = 200

/** The first line of the written backup, and its size in bytes. */
export interface BackedUp {
  header: Header
  bytes: number
}

/**
 * Writes a backup of the database: one snapshot. Writers continue meanwhile; a load that locks whole tables is waited for.
 * A TRUNCATE may lock the tables in another order: after a deadlock the backup begins again, while it has written nothing.
 * @param version of this axport
 * @throws PostgresError 42501 before anything is written, for a role that may not read all tables
 */
export async function backUp(db: Sql, version: string, write: Write, onRows: OnRows): Promise<BackedUp> {
  let isWritten = false
  const writeFirst: Write = bytes => {
    isWritten = true
    return write(bytes)
  }
  for (const startedAt = performance.now(); ; await Bun.sleep(PAUSE_MS)) {
    try {
      return await db.begin('isolation level repeatable read read only', async sql => {
        // Locks come before the first select, which takes the snapshot: it contains the load that was waited for.
        for (const { table } of KEPT) await sql`lock table ${sql(table)} in access share mode`
        await sql`
          select set_config('TimeZone', 'UTC', true), set_config('DateStyle', 'ISO', true),
            set_config('bytea_output', 'hex', true)`
        const header = await readHeader(sql, version)
        return { header, bytes: await writeArchive(linesOf(sql, header, onRows), writeFirst) }
      })
    } catch (error) {
      const isLate = performance.now() - startedAt > LOCK_TIMEOUT_MS
      if (isWritten || isLate || !isBlocked(error)) throw error
    }
  }
}

async function readHeader(sql: TransactionSql, version: string): Promise<Header> {
  const [state] = await sql<Pick<Header, 'schema' | 'made_at' | 'time_zone' | 'last_import_at'>[]>`
    select
      (select max(name) from schema_migrations) as schema,
      to_char(clock_timestamp(), 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as made_at,
      time_zone,
      last_import_at::text
    from export_state`
  if (!state)
    throw new Failure('export_state is empty, its one row was deleted: axport doctor says what to do')
  const rows: Record<string, number> = {}
  for (const { table } of KEPT) {
    const [count] = await sql<{ rows: string }[]>`select count(*) as rows from ${sql(table)}`
    rows[table] = Number(count?.rows)
  }
  const disclosures = await readDisclosing(sql)
  return { axport_backup: FORMAT, version, ...state, ...(disclosures && { disclosures }), rows }
}

async function* linesOf(sql: TransactionSql, header: Header, onRows: OnRows): AsyncGenerator<Header | Batch> {
  yield header
  const total = Object.values(header.rows).reduce((sum, rows) => sum + rows, 0)
  let done = 0
  onRows(done, total)
  for (const kept of KEPT) {
    const columns = await columnsOf(sql, kept.table)
    let read = await readRows(sql, kept, columns, [])
    while (read) {
      yield read.batch
      done += read.batch.rows
      onRows(done, total)
      read = await readRows(sql, kept, columns, read.last)
    }
  }
  if (done !== total) throw new Error(`${done} rows were read where ${total} were counted`)
}
