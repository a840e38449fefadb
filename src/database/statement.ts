import { is, Param, Placeholder, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import type { ParameterOrJSON } from 'postgres'
import { rawRows } from './value-types.ts'

/** Runs statements: a client of postgres.js, a transaction of it, or the database that requests use. */
export interface Runner {
  /** @param parameters the values of $1, $2, … */
  unsafe(text: string, parameters: ParameterOrJSON<never>[], options: RunOptions): PromiseLike<object>
}

export interface RunOptions {
  /** For texts that are few: each connection keeps a prepared statement in memory. */
  prepare: boolean
  /** Rows as raw rows. */
  bytes?: boolean
}

/** The columns of a row in their order: the bytes of their text, or null. */
export type RawRow = (Buffer | null)[]

/** A column of a raw row as a string. */
export const text = (column: Buffer | null | undefined): string | null => column?.toString() ?? null

/** The columns of a raw row by their names. */
export type NamedRow<Name extends string> = Record<Name, Buffer | null>

/** Names the columns of a raw row once: for the select list of its statement, and for the reader of its rows. */
export function rowOf<Name extends string>(columns: Record<Name, SQL>) {
  const names = Object.keys(columns) as Name[]
  return {
    /** The select list: each expression under its name. */
    list: sql.join(
      names.map(name => sql`${columns[name]} as ${sql.identifier(name)}`),
      sql.raw(',\n  '),
    ),
    /** Reads a row of a statement whose select list is `list`, or begins with it. Without a row all columns are null. */
    read(row: RawRow = []): NamedRow<Name> {
      const named = {} as NamedRow<Name>
      for (let at = 0; at < names.length; at++) named[names[at] as Name] = row[at] ?? null
      return named
    },
  }
}

/** A compiled statement: values in, rows out. */
export type Statement<Values extends Record<string, unknown>, Row> = (
  db: Runner,
  values: Values,
) => Promise<Row[]>

/**
 * Compiles a template or a builder of drizzle, with `sql.placeholder(name)`s, when it is first run. Rows have the names of
 * the columns, and a bigint is a decimal string.
 */
export function statement<Values extends Record<string, unknown>, Row>(
  query: SQLWrapper,
  prepare = true,
  bytes = false,
): Statement<Values, Row> {
  let compiled: Compiled | undefined
  const options = { prepare, bytes }
  return async (db, values) => {
    compiled ??= compile(query)
    const rows = db.unsafe(compiled.sql, compiled.parameters(values), options)
    return (await (bytes ? rawRows(rows) : rows)) as Row[]
  }
}

const DIALECT = new PgDialect()

interface Compiled {
  sql: string
  /** The values of $1, $2, …; throws for a placeholder without a value. */
  parameters(values: Record<string, unknown>): ParameterOrJSON<never>[]
}

/**
 * The text of a statement, and the order of its parameters. A name that stands in it several times is one parameter.
 * drizzle's own fillPlaceholders() looks through the prototypes of each parameter, for each request.
 */
export function compile(query: SQLWrapper): Compiled {
  const { sql, params } = DIALECT.sqlToQuery(query.getSQL())
  // The value of an inserted column is within a Param.
  const values = params.map(param => (is(param, Param) ? param.value : param))
  const keys = values.map((value, at) => (is(value, Placeholder) ? (value.name as string) : at))
  const distinct = [...new Set(keys)]
  const numberOf = (at: number) => distinct.indexOf(keys[at] as string | number) + 1
  const parameters: Compiled['parameters'] = given =>
    distinct.map(key => {
      const value = typeof key === 'number' ? params[key] : given[key]
      if (value === undefined) throw new Error(`a statement has no value for ${key}`)
      return value as ParameterOrJSON<never>
    })
  return { sql: sql.replaceAll(/\$(\d+)/g, (_, number) => `$${numberOf(Number(number) - 1)}`), parameters }
}

/** The same for large rows: a page would take longer to become a string and bytes again than all else done with it. */
export const rawStatement = <Values extends Record<string, unknown>>(query: SQL, prepare = true) =>
  statement<Values, RawRow>(query, prepare, true)

/** The row of a statement that always returns one. */
export function onlyRow<Row>([row]: readonly Row[]): Row {
  if (!row) throw new Error('a statement that always returns a row has returned none')
  return row
}
