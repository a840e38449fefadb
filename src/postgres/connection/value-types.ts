import type { ParameterOrJSON, PostgresType } from 'postgres'

/** Postgres' own numbers of the array types that statements take and return. */
const ARRAYS: Record<string, { oid: number; element(text: string): unknown }> = {
  booleans: { oid: 1000, element: text => text === 't' },
  integers: { oid: 1007, element: Number },
  texts: { oid: 1009, element: text => text },
  bigints: { oid: 1016, element: text => text },
  dates: { oid: 1182, element: text => text },
}

/**
 * What postgres.js is told about arrays, so that it does not ask each new connection for them: that costs a
 * round trip, and when the connection is cut meanwhile, 3.4.9 throws where nobody can catch it.
 * Arrays have one dimension; a bigint or a date is text.
 *
 * It also repeats a statement whose plan has become invalid, with parameters that it has serialized already: a second
 * time it would make hex of hex, and false of 't'. So values come as asText() makes them, and are sent as they are.
 */
export function valueTypes(): Record<string, PostgresType> {
  const type = (oid: number, parse: (text: string) => unknown): PostgresType => ({
    to: oid,
    from: [oid],
    serialize: (value: string) => value,
    parse,
  })
  const arrays = Object.entries(ARRAYS).map(([name, { oid, element }]) => [
    name,
    type(oid, text => fromArrayText(text).map(item => (item === null ? null : element(item)))),
  ])
  return {
    ...Object.fromEntries(arrays),
    boolean: type(16, text => text === 't'),
    bytea: type(17, text => Buffer.from(text.slice(2), 'hex')),
  }
}

/** A parameter in the form in which Postgres reads it, but for numbers and null. */
export function asText(value: ParameterOrJSON<never>): ParameterOrJSON<never> {
  if (Array.isArray(value)) return toArrayText(value)
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`
  return typeof value === 'boolean' ? String(value) : value
}

/** An array as Postgres reads it: {"1",null,"a \"quoted\" one"}. */
function toArrayText(values: unknown[]): string {
  const items = values.map(value =>
    value === null ? 'null' : `"${String(value).replaceAll(/["\\]/g, '\\$&')}"`,
  )
  return `{${items.join(',')}}`
}

/** Reads {1,NULL,"a \"quoted\" one"}. */
function fromArrayText(text: string): (string | null)[] {
  const items = text.slice(1, -1).matchAll(/"((?:[^"\\]|\\.)*)"|([^,]+)/gs)
  return Array.from(items, ([, quoted, plain]) =>
    quoted !== undefined ? quoted.replaceAll(/\\(.)/gs, '$1') : plain === 'NULL' ? null : (plain as string),
  )
}
