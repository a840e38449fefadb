/** The columns of a row in their order, each the bytes of its text; null for null. */
export type RawRow = (Buffer | null)[]

/** A column of a raw row as a string. */
export const text = (column: Buffer | null | undefined): string | null => column?.toString() ?? null

/** What a query of postgres.js finds, as raw rows; anything else is a promise of such rows already. */
export function rawRows(rows: PromiseLike<object>): PromiseLike<object> {
  return 'raw' in rows ? (rows as { raw(): PromiseLike<object> }).raw() : rows
}
