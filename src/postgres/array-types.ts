import type { PostgresType } from 'postgres'

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
 */
export function arrayTypes(): Record<string, PostgresType> {
  return Object.fromEntries(
    Object.entries(ARRAYS).map(([name, { oid, element }]) => [
      name,
      {
        to: oid,
        from: [oid],
        serialize: toArrayText,
        parse: (text: string) => fromArrayText(text).map(item => (item === null ? null : element(item))),
      },
    ]),
  )
}

/** An array as Postgres reads it: {"1",null,"a \"quoted\" one"}. */
export function toArrayText(values: unknown): string {
  if (!Array.isArray(values)) throw new TypeError('an array was expected')
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
