import type { TransactionSql } from 'postgres'
import type { Batch } from './archive.ts'
import type { Column } from './columns.ts'
import type { KeptTable } from './tables.ts'

/** Rows of a table, and the key of the last one. */
interface Read {
  batch: Batch
  last: string[]
}

/**
 * The next rows of a table after a key, in the order of keys; undefined when there are none. The database writes a column
 * as one array literal: this process parses no row.
 * @param after the key of the last row so far; empty for the first rows
 */
export async function readRows(
  sql: TransactionSql,
  { table, batch: most }: KeptTable,
  columns: Column[],
  after: string[],
): Promise<Read | undefined> {
  const key = columns
    .filter(({ keyPosition }) => keyPosition !== null)
    .sort((a, b) => Number(a.keyPosition) - Number(b.keyPosition))
  const keys = key.map(({ quoted }) => quoted).join(', ')
  const values = key.map(({ type }, at) => `$${at + 1}::text::${type}`).join(', ')
  const isAfter = after.length === 0 ? '' : `where (${keys}) > (${values})`
  const last = key.map(({ quoted }) => `(array_agg(${quoted}::text))[count(*)::integer]`).join(', ')
  const literals = columns.map(({ quoted, isArray }, at) => {
    // Postgres has no array of arrays of different lengths.
    return `array_agg(${isArray ? `${quoted}::text` : quoted})::text as c${at}`
  })
  const [row] = await sql.unsafe<Record<string, unknown>[]>(
    `select count(*)::integer as rows, array[${last}] as last, ${literals.join(', ')}
     from (select * from ${table} ${isAfter} order by ${keys} limit ${most}) as rows`,
    after,
  )
  if (!row?.rows) return undefined
  const literalOf = ({ name }: Column, at: number) => [name, row[`c${at}`]]
  const batch = { table, rows: row.rows as number, columns: Object.fromEntries(columns.map(literalOf)) }
  return { batch, last: row.last as string[] }
}

/** Writes rows of readRows(). @param columns the columns of the batch */
export async function writeRows(
  sql: TransactionSql,
  { table }: KeptTable,
  columns: Column[],
  batch: Batch,
): Promise<void> {
  const names = columns.map(({ quoted }) => quoted).join(', ')
  const values = columns.map(({ quoted, type }) => `${quoted}::${type}`).join(', ')
  const arrays = columns.map(({ type, isArray }, at) => `$${at + 1}::text::${isArray ? 'text' : type}[]`)
  await sql.unsafe(
    `insert into ${table} (${names}) overriding system value
     select ${values} from unnest(${arrays.join(', ')}) as rows (${names})`,
    columns.map(({ name }) => batch.columns[name] ?? null),
  )
}
