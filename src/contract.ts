import { Type as t } from '@sinclair/typebox'

/** The parameters of the list request (contract L1 to L4, F2 to F11), as they are read and sent; the shapes of records. */

/** Values that a filter may have at most: 400 past it. */
export const MAX_FILTER_VALUES = 1000

/** Larger page sizes are silently reduced to this (contract L1). */
export const MAX_PAGE = 100
export const DEFAULT_PAGE = 50

/** The sort keys; the first is the default. */
export const SORTS = ['certified_on', 'user_name', 'proctor_name', 'product_name'] as const
export type Sort = (typeof SORTS)[number]

/** The directions; the first is the default. */
export const ORDERS = ['ASC', 'DESC'] as const
export type Order = (typeof ORDERS)[number]

/** A list request as it was read: defaults and the cap applied, filters by their bare names. */
export interface ListQuery {
  page: number
  offset: number
  sort: Sort
  order: Order
  filter: Filter
}

/** The filters of a request; blank ones are absent. Ids are canonical decimal strings and may lie beyond bigint. */
export interface Filter {
  search?: string
  start_date?: string
  end_date?: string
  product_ids?: string[]
  user_ids?: string[]
  seids?: string[]
  proctor_ids?: string[]
  organization_ids?: string[]
  user_record_status?: ('active' | 'archived')[]
  legacy_record?: boolean[]
}

/** A parameter, or a kind of them: its JSON schema for the OpenAPI document, and the reader of one value. */
export interface Parameter {
  schema: { type: string; description?: string; [more: string]: unknown }
  /** Completes "… must be". */
  expected: string
  /** Returns undefined for a text that is no such value. */
  read(text: string): unknown
}

/** White space around a value is ignored, except in free text, which is compared as it was sent. */
const text: Parameter = { schema: { type: 'string' }, expected: 'text', read: text => text }
const id: Parameter = {
  schema: { type: 'integer', format: 'int64' },
  expected: 'a whole number',
  read: canonicalNumber,
}
const day: Parameter = {
  schema: { type: 'string', format: 'date' },
  expected: 'a calendar day as YYYY-MM-DD',
  read: text => (isDay(text.trim()) ? text.trim() : undefined),
}
const boolean: Parameter = {
  schema: { type: 'boolean' },
  expected: 'true or false',
  read: text => BOOLEANS.get(text.trim().toLowerCase()),
}
/** Capped at 2^53 - 1, which is beyond any count and still exact in every JSON parser. */
const wholeNumber = (minimum: number, preset: number): Parameter => ({
  schema: { minimum, default: preset, type: 'integer' },
  expected: `a whole number, at least ${minimum}`,
  read(text) {
    // Twenty characters are beyond the cap, however many follow.
    const value = Number(canonicalNumber(text)?.slice(0, 20) ?? Number.NaN)
    return value >= minimum ? Math.min(value, Number.MAX_SAFE_INTEGER) : undefined
  },
})
const oneOf = (values: readonly string[], preset?: string): Parameter => ({
  schema: { type: 'string', enum: values, ...(preset && { default: preset }) },
  expected: values.join(' or '),
  read: text => values.find(value => value === text.trim()),
})
const one = (kind: Parameter, description: string) => ({ ...kind, schema: { ...kind.schema, description } })
const many = (kind: Parameter, description: string) => ({
  ...kind,
  schema: { maxItems: MAX_FILTER_VALUES, type: 'array', items: kind.schema, description },
})

const BOOLEANS = new Map(Object.entries({ true: true, 1: true, false: false, 0: false }))

/** The parameters by their names in the query string. */
export const LIST_PARAMETERS: Record<string, Parameter> = {
  page: one(
    wholeNumber(1, DEFAULT_PAGE),
    'Page size, not a page number. Values above 100 are reduced to 100.',
  ),
  offset: one(wholeNumber(0, 0), 'Number of records to skip.'),
  sort: one(oneOf(SORTS, SORTS[0]), 'An unrecognised value falls back to the default.'),
  order: one(oneOf(ORDERS, ORDERS[0]), 'Case-insensitive; anything else falls back to ASC.'),
  'filter[search]': one(
    text,
    'Case-insensitive partial match on assessment name, first name or last name. Two words also match as first name followed by last name.',
  ),
  'filter[start_date]': one(
    day,
    'Completed on this day or later. A day begins and ends in the time zone of the platform.',
  ),
  'filter[end_date]': one(
    day,
    'Completed on this day, to its end, or earlier. A day begins and ends in the time zone of the platform.',
  ),
  'filter[product_ids][]': many(id, 'These assessments.'),
  'filter[user_ids][]': many(id, 'These educators, by platform user ID.'),
  'filter[seids][]': many(text, 'These educators, by State Educator ID, compared exactly as it was sent.'),
  'filter[proctor_ids][]': many(
    id,
    'Any part of the assessment was supervised by one of these users, by platform user ID.',
  ),
  'filter[organization_ids][]': many(
    id,
    'The assessment belongs to one of these organizations. One outside the scope matches nothing, and is no error.',
  ),
  'filter[user_record_status][]': many(
    oneOf(['active', 'archived']),
    'Record status of the educator: active, archived, or both.',
  ),
  'filter[legacy_record][]': many(
    boolean,
    'true: records migrated from a prior system; false: the others; or both.',
  ),
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

/** The bare name of a parameter: `user_ids` for `filter[user_ids][]`. */
export function fieldOf(name: string): string {
  return name.replace(/^filter\[(\w+)\].*/, '$1')
}

/** The shapes of contract R2, R7 and L6. They are rendered by SQL (db/migrations); tests compare answers with them. */

/** Format int64: a generated client must not make 32 bits of it. */
const Id = (description: string) => t.Integer({ format: 'int64', description })
const Day = (description: string) => t.String({ format: 'date', description })

/** Contract R7. */
export const ResultPart = t.Object({
  assessment_id: Id('ID of that individual part; the retrieve endpoint does not take it.'),
  assessment_name: t.String({ description: 'Name of the part.' }),
  certified_on: Day('Completion date of the part, in the time zone of the platform.'),
  proctor_id: Id('Platform user ID of the proctor who supervised the part.'),
  proctor_name: t.String({ description: "The proctor's name." }),
})

/** Contract R2: an element of `data`, and the answer of the retrieve endpoint. */
export const AssessmentRecord = t.Object({
  id: Id('ID of the overall assessment; the only one the retrieve endpoint takes.'),
  seid: t.Union([t.String(), t.Null()], { description: 'State Educator ID; null if never recorded.' }),
  name: t.String({ description: 'Full display name.' }),
  first_name: t.String({ description: 'Given name.' }),
  last_name: t.String({ description: 'Family name.' }),
  email: t.String({ description: "The educator's email address on the platform." }),
  organization_id: Id('Organization the assessment belongs to.'),
  organization_name: t.String({ description: 'Name of that organization.' }),
  assessment_name: t.String({ description: 'Name of the completed assessment.' }),
  certified_on: Day('Completion date of the overall assessment, in the time zone of the platform.'),
  results: t.Array(ResultPart, {
    minItems: 1,
    description: 'The parts, or one entry that describes the assessment itself.',
  }),
})
