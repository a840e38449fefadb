import type { ParameterOrJSON, PostgresType } from 'postgres'

/** The array types of statements: their oid in Postgres, and how an element is read. A bigint or a date stays text. */
const ARRAYS: Record<string, { oid: number; element(text: string): unknown }> = {
  booleans: { oid: 1000, element: text => text === 't' },
  integers: { oid: 1007, element: Number },
  texts: { oid: 1009, element: text => text },
  bigints: { oid: 1016, element: text => text },
  dates: { oid: 1182, element: text => text },
}

/**
 * The types that postgres.js gets, with arrays of one dimension. Without them it asks each new connection for the array
 * types: one round trip more, and 3.4.9 throws where no code can catch it if the connection is cut meanwhile.
 *
 * Values are not serialized, because asText() has done that: postgres.js repeats a statement whose plan became invalid
 * with serialized parameters, and would turn hex into hex of hex, and 't' into false.
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

/** A parameter as Postgres reads it; numbers and null stay as they are. */
export function asText(value: ParameterOrJSON<never>): ParameterOrJSON<never> {
  if (Array.isArray(value)) return toArrayText(value)
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`
  return typeof value === 'boolean' ? String(value) : value
}

/** An array literal: {"1",null,"a \"quoted\" one"}. */
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
