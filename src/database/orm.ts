import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/postgres-js'
import type { Sql, TransactionSql } from 'postgres'
import { compile } from './statement.ts'

/** drizzle on a client of postgres.js, or on a transaction of it. */
export type Orm = ReturnType<typeof orm>

/**
 * drizzle, on its own options: it replaces the parsers of dates and the serializers of JSON in the options that it gets. The
 * client keeps its own. Its errors are those of the database: drizzle throws an error without their code, whose message has
 * the parameters of the statement, names and digests among them.
 */
export function orm(client: Sql | TransactionSql) {
  const aside = {
    options: { parsers: {}, serializers: {} },
    unsafe: (text: string, parameters: never[], options: object) => client.unsafe(text, parameters, options),
  }
  const db = drizzle(aside as unknown as Sql)
  const { session } = db._
  const prepare = session.prepareQuery.bind(session)
  session.prepareQuery = (...given) =>
    Object.assign(prepare(...given), {
      queryWithCache: (_: string, __: unknown[], run: () => unknown) => run(),
    })
  return db
}

/** The rows of a statement that reads better as SQL than with a builder. */
export async function rowsOf<Row>(client: Sql | TransactionSql, query: SQL): Promise<Row[]> {
  return [...(await orm(client).execute(query))] as Row[]
}

/** The same, some rows at a time, for a result that may not fit into memory. */
export function rowsInParts<Row extends object>(client: Sql, query: SQL, size: number): AsyncIterable<Row[]> {
  const { sql: text, parameters } = compile(query)
  return client.unsafe<Row[]>(text, parameters({})).cursor(size)
}

/** Builds statements without a connection, for statement(). */
export const build = drizzle.mock()

/** The time of the transaction. */
export const NOW = sql`now()`

/** A timestamptz as ISO 8601 in UTC, to the second. */
export const isoOf = (instant: SQLWrapper): SQL<string> =>
  sql<string>`to_char((${instant}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`

/** Values as one parameter, an array. drizzle would make a list of them. */
export const bigints = (ids: readonly string[]): SQL => sql`${sql.param(ids)}::bigint[]`
export const texts = (values: readonly (string | null)[]): SQL => sql`${sql.param(values)}::text[]`
