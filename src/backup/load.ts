import type { TransactionSql } from 'postgres'
import { type Batch, damaged, type Header } from './archive.ts'
import { type Column, columnsOf } from './columns.ts'
import { withoutHistory } from './history.ts'
import { readBatches } from './read.ts'
import { writeRows } from './statements.ts'
import { KEPT, type KeptTable } from './tables.ts'

/**
 * Writes all rows of a backup. The database writes some while this process reads the next.
 * @throws Failure for a file whose rows differ from its header, or with an unknown table or column
 */
export async function loadRows(
  sql: TransactionSql,
  path: string,
  header: Header,
  onRows: (done: number, total: number) => void,
): Promise<void> {
  await withoutHistory(sql, () => loadAll(sql, path, header, onRows))
}

async function loadAll(
  sql: TransactionSql,
  path: string,
  { rows }: Header,
  onRows: (done: number, total: number) => void,
): Promise<void> {
  const tables = new Map<string, { kept: KeptTable; columns: Column[] }>()
  for (const kept of KEPT) tables.set(kept.table, { kept, columns: await columnsOf(sql, kept.table) })
  const total = sum(rows)
  const loaded: Record<string, number> = {}
  let written: Promise<unknown> = Promise.resolve()
  for await (const batch of readBatches(path)) {
    const table = tables.get(batch.table)
    const columns = columnsIn(batch, table?.columns)
    if (!table || !columns) throw damaged(path)
    await written
    written = writeRows(sql, table.kept, columns, batch)
    // The next await gets the error; until then it is not unhandled.
    written.catch(() => {})
    loaded[batch.table] = (loaded[batch.table] ?? 0) + batch.rows
    onRows(sum(loaded), total)
  }
  await written
  if (KEPT.some(({ table }) => loaded[table] !== (rows[table] || undefined))) throw damaged(path)
  for (const { kept, columns } of tables.values()) await advanceSequence(sql, kept, columns)
}

const sum = (rows: Record<string, number>) => Object.values(rows).reduce((all, some) => all + some, 0)

/** The columns of a batch; undefined if one of them is unknown. */
function columnsIn({ columns }: Batch, known: Column[] = []): Column[] | undefined {
  const own = known.filter(({ name }) => columns[name] !== undefined)
  return own.length > 0 && own.length === Object.keys(columns).length ? own : undefined
}

/** Sets the sequence of an identity column after the highest restored value. */
async function advanceSequence(sql: TransactionSql, { table }: KeptTable, columns: Column[]): Promise<void> {
  for (const { name, isIdentity } of columns) {
    if (!isIdentity) continue
    await sql`
      select setval(pg_get_serial_sequence(${table}, ${name}), max(${sql(name)})) from ${sql(table)}
      having count(*) > 0`
  }
}
