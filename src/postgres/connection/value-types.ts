import type { ParameterOrJSON, PostgresType } from 'postgres'

const isTrue = (text: string) => text === 't'
const asIs = (text: string) => text

/** Reads {1,NULL,"a \"quoted\" one"}. */
const arrayOf = (element: (text: string) => unknown) => (text: string) =>
  Array.from(text.slice(1, -1).matchAll(/"((?:[^"\\]|\\.)*)"|([^,]+)/gs), ([, quoted, plain = 'NULL']) => {
    if (quoted !== undefined) return element(quoted.replaceAll(/\\(.)/gs, '$1'))
    return plain === 'NULL' ? null : element(plain)
  })

/** The types of statements by their oid in Postgres, with arrays of one dimension. A bigint or a date stays text. */
const READERS = {
  boolean: [16, isTrue],
  bytea: [17, (text: string) => Buffer.from(text.slice(2), 'hex')],
  booleans: [1000, arrayOf(isTrue)],
  integers: [1007, arrayOf(Number)],
  texts: [1009, arrayOf(asIs)],
  bigints: [1016, arrayOf(asIs)],
  dates: [1182, arrayOf(asIs)],
} as const

/**
 * The types for postgres.js, which without them asks each new connection for the array types. asText() has serialized the
 * values: postgres.js repeats a statement whose plan became invalid with serialized parameters, and would turn hex into
 * hex of hex, and 't' into false.
 */
export const VALUE_TYPES: Record<string, PostgresType> = Object.fromEntries(
  Object.entries(READERS).map(([name, [oid, parse]]) => [
    name,
    { to: oid, from: [oid], serialize: asIs, parse },
  ]),
)

/** A parameter as Postgres reads it; numbers and null stay as they are. An array becomes {"1",null,"a \"quoted\" one"}. */
export function asText(value: ParameterOrJSON<never>): ParameterOrJSON<never> {
  if (Array.isArray(value)) {
    const quoted = (item: unknown) => `"${String(item).replaceAll(/["\\]/g, '\\$&')}"`
    return `{${value.map((item: unknown) => (item === null ? 'null' : quoted(item))).join(',')}}`
  }
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`
  return typeof value === 'boolean' ? String(value) : value
}
