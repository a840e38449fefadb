import { fillPlaceholders, type SQL } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import type { ParameterOrJSON } from 'postgres'
import { type RawRow, rawRows } from './raw-rows.ts'

/** Whoever runs a statement: a client of postgres.js, a transaction of it, or the pool that requests share. */
export interface Runner {
  /** @param parameters the values of $1, $2, … */
  unsafe(text: string, parameters: ParameterOrJSON<never>[], options: RunOptions): PromiseLike<object>
}

export interface RunOptions {
  prepare: boolean
  /** Rows as the bytes of each column, in their order. */
  bytes?: boolean
}

/** A statement that has been compiled; call it with its values, get its rows. */
export type Statement<Values extends Record<string, unknown>, Row> = (
  db: Runner,
  values: Values,
) => Promise<Row[]>

/**
 * Compiles a drizzle `sql` template with `sql.placeholder(name)`s into a statement that Postgres prepares
 * once a connection, by its text. Compile at module level or keep the result, where texts are few.
 *
 * `prepare` is for texts that are few: a prepared one stays in the memory of each connection.
 *
 * Rows come as postgres.js gives them: bigint as decimal string, arrays as arrays of those.
 */
export function statement<Values extends Record<string, unknown>, Row>(
  query: SQL,
  prepare = true,
): Statement<Values, Row> {
  const send = compile(query)
  return async (db, values) => (await send(db, values, { prepare })) as Row[]
}

/**
 * The same for rows that are large: what is sent on as it came need not become a string and bytes again, which
 * for a page of 50 KB takes longer than all else that is done with it.
 */
export function rawStatement<Values extends Record<string, unknown>>(
  query: SQL,
  prepare = true,
): Statement<Values, RawRow> {
  const send = compile(query)
  return async (db, values) => (await send(db, values, { prepare, bytes: true })) as RawRow[]
}

function compile(query: SQL) {
  let compiled: { sql: string; params: unknown[] } | undefined
  return async (db: Runner, values: Record<string, unknown>, options: RunOptions): Promise<object> => {
    compiled ??= new PgDialect().sqlToQuery(query)
    const parameters = fillPlaceholders(compiled.params, values) as ParameterOrJSON<never>[]
    const rows = db.unsafe(compiled.sql, parameters, options)
    return await (options.bytes ? rawRows(rows) : rows)
  }
}
