import { fillPlaceholders, type SQL } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import type { ParameterOrJSON } from 'postgres'

/** Whoever runs a statement: a client of postgres.js, a transaction of it, or the pool that requests share. */
export interface Runner {
  /** @param parameters the values of $1, $2, … */
  unsafe(
    text: string,
    parameters: ParameterOrJSON<never>[],
    options: { prepare: boolean },
  ): PromiseLike<object>
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
  let compiled: { sql: string; params: unknown[] } | undefined
  return async (db, values) => {
    compiled ??= new PgDialect().sqlToQuery(query)
    const parameters = fillPlaceholders(compiled.params, values) as ParameterOrJSON<never>[]
    const rows = await db.unsafe(compiled.sql, parameters, { prepare })
    return rows as unknown as Row[]
  }
}
