import type { ParameterOrJSON, PendingQuery, PostgresType, Row } from 'postgres'

const isTrue = (text: string) => text === 't'
const asIs = (text: string) => text

/** Reads {1,NULL,"a \"quoted\" one"}. */
const arrayOf = (element: (text: string) => unknown) => (text: string) =>
  Array.from(text.slice(1, -1).matchAll(/"((?:[^"\\]|\\.)*)"|([^,]+)/gs), ([, quoted, plain = 'NULL']) => {
    if (quoted !== undefined) return element(quoted.replaceAll(/\\(.)/gs, '$1'))
    return plain === 'NULL' ? null : element(plain)
  })

/**
 * A type of Postgres by its oid. asText() has serialized the values: postgres.js repeats a statement whose plan became
 * invalid with serialized parameters, and would turn hex into hex of hex, and 't' into false.
 */
function valueType(oid: number, parse: (text: string) => unknown): PostgresType {
  return { to: oid, from: [oid], serialize: asIs, parse }
}

/** Arrays have one dimension; a bigint or a date stays text. Without these, postgres.js asks for the array types. */
export const VALUE_TYPES = {
  boolean: valueType(16, isTrue),
  bytea: valueType(17, asIs),
  booleans: valueType(1000, arrayOf(isTrue)),
  integers: valueType(1007, arrayOf(Number)),
  texts: valueType(1009, arrayOf(asIs)),
  bigints: valueType(1016, arrayOf(asIs)),
  dates: valueType(1182, arrayOf(asIs)),
}

/** For a client without VALUE_TYPES that reads or writes digests: they are text, as sha256() returns it. */
export const DIGEST_TYPE = { bytea: VALUE_TYPES.bytea }

/**
 * A parameter as Postgres reads it; numbers and null stay as they are. An array becomes {"1","a \"quoted\" one"}. It has
 * no null: with array_nulls = off Postgres would read the text "null".
 */
export function asText(value: ParameterOrJSON<never>): ParameterOrJSON<never> {
  if (Array.isArray(value)) {
    if (value.includes(null)) throw new Error('an array of a parameter has a null')
    const quoted = (item: unknown) => `"${String(item).replaceAll(/["\\]/g, '\\$&')}"`
    return `{${value.map(quoted).join(',')}}`
  }
  return typeof value === 'boolean' ? String(value) : value
}

/** The result of Runner.unsafe() as raw rows: a query of postgres.js needs raw(), ServingDatabase returns them. */
export const rawRows = (rows: PromiseLike<object>): PromiseLike<object> =>
  'raw' in rows ? (rows as PendingQuery<Row[]>).raw() : rows
