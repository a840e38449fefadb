/** The parameters of the list request (spec 4.2): the table by which requests are read and documented. */

/** Values that a filter may have at most: 400 past it. */
export const MAX_FILTER_VALUES = 1000

/** Spec 8: larger page sizes are silently reduced to this. */
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

/** A value that cannot be read; `expected` completes "… must be". */
export class Unreadable extends Error {
  constructor(readonly expected: string) {
    super(`must be ${expected}`)
  }
}

/** A kind of value: its JSON schema for the OpenAPI document, and its reader, which throws Unreadable. */
interface Kind {
  schema: { type: string; [more: string]: unknown }
  read(text: string): unknown
}

/** A parameter; `read` reads one of its values. */
export type Parameter = Kind & { schema: { description: string } }

/** White space around a value is ignored, except in free text, which is compared as it was sent. */
const text = { schema: { type: 'string' }, read: (text: string) => text }
const id = { schema: { type: 'integer', format: 'int64' }, read: (text: string) => readId(text.trim()) }
const day = { schema: { type: 'string', format: 'date' }, read: (text: string) => readDay(text.trim()) }
const boolean = { schema: { type: 'boolean' }, read: (text: string) => readBoolean(text.trim()) }
const wholeNumber = (minimum: number, preset: number) => ({
  schema: { minimum, default: preset, type: 'integer' },
  read: (text: string) => readInteger(text.trim(), minimum),
})
const oneOf = (values: readonly string[], preset?: string) => ({
  schema: { type: 'string', enum: values, ...(preset && { default: preset }) },
  read: (text: string) => readOneOf(text.trim(), values),
})
const one = ({ schema, read }: Kind, description: string): Parameter => ({
  schema: { ...schema, description },
  read,
})
const many = ({ schema, read }: Kind, description: string): Parameter => ({
  schema: { maxItems: MAX_FILTER_VALUES, type: 'array', items: schema, description },
  read,
})

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
  'filter[start_date]': one(day, 'Completed on or after this day, in the time zone of the platform.'),
  'filter[end_date]': one(
    day,
    'Completed on or before this day, the whole of it, in the time zone of the platform.',
  ),
  'filter[product_ids][]': many(id, 'Specific assessments.'),
  'filter[user_ids][]': many(id, 'Specific educators, by platform user ID.'),
  'filter[seids][]': many(text, 'Specific educators, by State Educator ID.'),
  'filter[proctor_ids][]': many(id, 'Specific proctors, by platform user ID: of any part of the assessment.'),
  'filter[organization_ids][]': many(id, 'Educators belonging to these organizations.'),
  'filter[user_record_status][]': many(oneOf(['active', 'archived']), 'Record status of the educator.'),
  'filter[legacy_record][]': many(
    boolean,
    'true: migrated from a prior system; false: created natively; both: everything.',
  ),
}

const WHOLE_NUMBER = /^[+-]?\d+$/

/** The canonical decimal form, so that "007" and "7" are the same id. */
function readId(text: string): string {
  if (!WHOLE_NUMBER.test(text)) throw new Unreadable('a whole number')
  return BigInt(text.replace('+', '')).toString()
}

/** Capped at 2^53 - 1, which is beyond any count and still exact in every JSON parser. */
function readInteger(text: string, minimum: number): number {
  const value = WHOLE_NUMBER.test(text) ? Number(text) : Number.NaN
  if (!(value >= minimum)) throw new Unreadable(`a whole number, at least ${minimum}`)
  return Math.min(value, Number.MAX_SAFE_INTEGER)
}

const BOOLEANS = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
])

function readBoolean(text: string): boolean {
  const value = BOOLEANS.get(text.toLowerCase())
  if (value === undefined) throw new Unreadable('true or false')
  return value
}

/** A calendar day that exists, as YYYY-MM-DD. Neither ISO 8601 practice nor Postgres has a year 0. */
function readDay(text: string): string {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? []
  const date = new Date(`${text}T00:00:00Z`)
  const isReal =
    Number(year) > 0 && date.getUTCMonth() + 1 === Number(month) && date.getUTCDate() === Number(day)
  if (!isReal) throw new Unreadable('a calendar day as YYYY-MM-DD')
  return text
}

function readOneOf(text: string, known: readonly string[]): string {
  if (!known.includes(text)) throw new Unreadable(known.join(' or '))
  return text
}
