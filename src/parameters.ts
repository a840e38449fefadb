/** How the values of a request's address are read: they are text, whatever they mean. */

/** Values that a list may have at most: 400 past it. */
export const MAX_VALUES = 1000

/** All values of one name, in their order; undefined for a value whose name has more brackets than any parameter. */
export type SentValues = (string | undefined)[]

/** A JSON schema, for the OpenAPI document. */
export type JsonSchema = Record<string, unknown> & { type: string }

/** A kind of value. */
export interface Kind<Value> {
  schema: JsonSchema
  /** Completes "… must be". */
  expected: string
  /** Returns undefined for a text that is no such value. */
  read(text: string): Value | undefined
}

/** A parameter. */
export interface Parameter<Value = unknown> {
  schema: JsonSchema
  /** Of each of its values. */
  kind: Kind<unknown>
  /** The value of what was sent; `expected` for what cannot be read completes "… must be". */
  read(sent: SentValues): { value: Value } | { expected: string }
}

/** The values of a table of parameters. */
export type ValuesOf<Table> = {
  [Name in keyof Table]: Table[Name] extends Parameter<infer Value> ? Value : never
}

/** Something that cannot be read: the message names it, and never quotes it. */
export interface Issue {
  message: string
  path: string[]
}

/** A Standard Schema (standardschema.dev), which Elysia takes as a validator, and describes in the OpenAPI document. */
export interface Validator<Sent, Value> {
  '~standard': {
    version: 1
    vendor: 'axport'
    types?: { input: Sent; output: Value }
    validate(sent: Sent): { value: Value } | { issues: Issue[] }
    jsonSchema: { input(): JsonSchema }
  }
}

export const validator = <Sent, Value>(
  properties: Record<string, JsonSchema>,
  validate: (sent: Sent) => { value: Value } | { issues: Issue[] },
): Validator<Sent, Value> => ({
  '~standard': {
    version: 1,
    vendor: 'axport',
    validate,
    jsonSchema: { input: () => ({ type: 'object', properties }) },
  },
})

/** Reads a table of parameters from what was sent under their names. Those that were not sent are as in `presets`. */
export function readAll<Values extends object>(
  table: { [Name in keyof Values]-?: Parameter<NonNullable<Values[Name]>> },
  presets: Values,
  sentAs: (name: keyof Values & string) => { name: string; sent: SentValues | undefined },
): { values: Values; issues: Issue[] } {
  const values = { ...presets }
  const issues: Issue[] = []
  for (const key in table) {
    const { name, sent } = sentAs(key)
    if (!sent) continue
    const read = table[key].read(sent)
    if ('value' in read) values[key] = read.value
    else issues.push({ message: `${name} must be ${read.expected}`, path: [name] })
  }
  return { values, issues }
}

/** Blanks around a value have no meaning, here as in those below. */
export const text: Kind<string> = { schema: { type: 'string' }, expected: 'text', read: text => text.trim() }

/** A string of digits: an id may be beyond the precise numbers of JavaScript, and beyond bigint. */
export const id: Kind<string> = {
  schema: { type: 'integer', format: 'int64' },
  expected: 'a whole number',
  read: canonicalNumber,
}

export const day: Kind<string> = {
  schema: { type: 'string', format: 'date' },
  expected: 'a calendar day as YYYY-MM-DD',
  read: text => (isDay(text.trim()) ? text.trim() : undefined),
}

const BOOLEANS = new Map(Object.entries({ true: true, 1: true, false: false, 0: false }))

export const boolean: Kind<boolean> = {
  schema: { type: 'boolean' },
  expected: 'true or false',
  read: text => BOOLEANS.get(text.trim().toLowerCase()),
}

/** Larger numbers are reduced to `most`: by default 2^53 - 1, which is beyond any count and exact in every JSON parser. */
export const wholeNumber = (
  minimum: number,
  preset: number,
  most = Number.MAX_SAFE_INTEGER,
): Kind<number> => ({
  schema: { minimum, default: preset, type: 'integer' },
  expected: `a whole number, at least ${minimum}`,
  read(text) {
    // Twenty characters are beyond any `most`, however many follow.
    const value = Number(canonicalNumber(text)?.slice(0, 20) ?? Number.NaN)
    return value >= minimum ? Math.min(value, most) : undefined
  },
})

export const oneOf = <Value extends string>(values: readonly Value[]): Kind<Value> => ({
  schema: { type: 'string', enum: values },
  expected: values.join(' or '),
  read: text => values.find(value => value === text.trim()),
})

/** A parameter with one value. Of one that is repeated the last value counts. */
export const one = <Value>(kind: Kind<Value>, example: Value, description: string): Parameter<Value> => ({
  kind,
  schema: { ...kind.schema, description, examples: [example] },
  read(sent) {
    const expected = unreadable(sent)
    if (expected) return { expected }
    const value = kind.read(sent.at(-1) ?? '')
    return value === undefined ? { expected: kind.expected } : { value }
  },
})

/** A parameter with a list of values. */
export const many = <Value>(
  kind: Kind<Value>,
  examples: unknown[],
  description: string,
): Parameter<Value[]> => ({
  kind,
  schema: { maxItems: MAX_VALUES, type: 'array', items: kind.schema, description, examples: [examples] },
  read(sent) {
    if (sent.length > MAX_VALUES) return { expected: `at most ${MAX_VALUES} values` }
    const expected = unreadable(sent)
    if (expected) return { expected }
    const value = sent.flatMap(text => kind.read(text ?? '') ?? [])
    return value.length < sent.length ? { expected: kind.expected } : { value }
  },
})

/** A parameter that means the first of its values where anything else was sent (contract L9). */
export const oneOrFirst = <Value extends string>(
  values: readonly [Value, ...Value[]],
  description: string,
  spelled = (text: string) => text,
): Parameter<Value> => ({
  kind: oneOf(values),
  schema: { type: 'string', enum: values, default: values[0], description, examples: [values.at(-1)] },
  read: sent => ({
    value: values.find(value => value === spelled(sent.at(-1)?.trim() ?? '')) ?? values[0],
  }),
})

function unreadable(sent: SentValues): string | undefined {
  for (const text of sent) {
    if (text === undefined) return 'a value or a list of values, without further brackets'
    // Postgres refuses NUL in text, and no name, seid or number contains the others.
    if (/\p{Cc}/u.test(text)) return 'free of control characters'
  }
  return undefined
}

/** Days that exist in every month, for which no calendar is needed. */
const ORDINARY = /^(?!0000)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])$/

/** Whether a text is a day of the calendar, as 2026-03-01. Neither ISO 8601 practice nor Postgres has a year 0. */
export function isDay(text: string): boolean {
  if (ORDINARY.test(text)) return true
  return (
    /^(?!0000)\d{4}-\d\d-\d\d$/.test(text) && new Date(`${text}T00:00Z`).toJSON()?.startsWith(text) === true
  )
}

/**
 * The canonical decimal form of a whole number, so that "007", "+7" and "7" are the same id; undefined for another text.
 * It takes linear time: a request may have tens of thousands of digits, and parsing them as a bigint takes quadratic time.
 */
export function canonicalNumber(text: string): string | undefined {
  const [, sign, digits] = /^([+-]?)(\d+)$/.exec(text.trim()) ?? []
  const significant = digits?.replace(/^0+(?=\d)/, '')
  return sign === '-' && significant !== '0' ? `-${significant}` : significant
}

/** Whether a canonical number is within bigint. An id beyond is no error: it matches nothing. */
export function isBigint(number: string): boolean {
  return (
    number.length <= '-9223372036854775808'.length && BigInt.asIntN(64, BigInt(number)) === BigInt(number)
  )
}
