import { type Static, type TSchema, Type as t } from '@sinclair/typebox'

/** Values a filter may be given at most; a clear 400 past it. */
export const MAX_FILTER_VALUES = 1000

/** Spec 8: larger page sizes are silently reduced to this. */
export const MAX_PAGE = 100

/** What can be sorted by; the first is the default. */
export const SORTS = ['certified_on', 'user_name', 'proctor_name', 'product_name'] as const
/** One of SORTS. */
export type Sort = (typeof SORTS)[number]

/** The directions; the first is the default. */
export const ORDERS = ['ASC', 'DESC'] as const
/** One of ORDERS. */
export type Order = (typeof ORDERS)[number]

/** What the schema language has no checker for: read by parse.ts, and only described here. */
const described = <Value>(schema: object) => t.Unsafe<Value>({ ...t.Any(), ...schema })

/** An integer on the wire. Read as a decimal string, because bigint exceeds JavaScript's exact integers. */
const Id = described<string | number>({ type: 'integer', format: 'int64' })

const number = (minimum: number, otherwise: number, description: string) =>
  t.Optional(t.Integer({ minimum, default: otherwise, description }))
const oneOf = <Value extends string>(values: readonly [Value, ...Value[]], description: string) =>
  t.Optional(
    t.Union(
      values.map(value => t.Literal(value)),
      { default: values[0], description },
    ),
  )
const many = <Item extends TSchema>(item: Item, description: string) =>
  t.Optional(t.Array(item, { maxItems: MAX_FILTER_VALUES, description }))
const day = (description: string) =>
  t.Optional(described<string>({ type: 'string', format: 'date', description }))

/**
 * The parameters of the list request (spec 4.2) by their names in the query string, each with its type, default and
 * limits. The parser reads by this schema, the document shows it, and a typed client is held to it.
 */
export const ListParameters = t.Object({
  page: number(1, 50, 'Page size, not a page number. Values above 100 are reduced to 100.'),
  offset: number(0, 0, 'Number of records to skip.'),
  sort: oneOf(SORTS, 'An unrecognised value falls back to the default.'),
  order: oneOf(ORDERS, 'Case-insensitive; anything else falls back to ASC.'),
  'filter[search]': t.Optional(
    t.String({
      description:
        'Case-insensitive partial match on assessment name, first name or last name. Two words also match as first name followed by last name.',
    }),
  ),
  'filter[start_date]': day('Completed on or after this day, in the time zone of the platform.'),
  'filter[end_date]': day(
    'Completed on or before this day, the whole of it, in the time zone of the platform.',
  ),
  'filter[product_ids][]': many(Id, 'Specific assessments.'),
  'filter[user_ids][]': many(Id, 'Specific educators, by platform user ID.'),
  'filter[seids][]': many(t.String(), 'Specific educators, by State Educator ID.'),
  'filter[proctor_ids][]': many(Id, 'Specific proctors, by platform user ID: of any part of the assessment.'),
  'filter[organization_ids][]': many(Id, 'Educators belonging to these organizations.'),
  'filter[user_record_status][]': many(
    t.Union([t.Literal('active'), t.Literal('archived')]),
    'Record status of the educator.',
  ),
  'filter[legacy_record][]': many(
    t.Boolean(),
    'true: migrated from a prior system; false: created natively; both: everything.',
  ),
})
/** Parameters as they may be sent, or as they were read: every value valid, blank ones absent, ids canonical. */
export type ListParameters = Static<typeof ListParameters>

/** A list request: defaults and the cap applied, filters by their bare names, ids as decimal strings. */
export interface ListQuery {
  page: number
  offset: number
  sort: Sort
  order: Order
  filter: Filter
}
type Filters = ReturnType<typeof filterOf>
/** The filters of a list request. */
export type Filter = { [Name in keyof Filters]?: Filters[Name] | undefined }

/** The request that parameters stand for. */
export function queryOf(parameters: ListParameters): ListQuery {
  const {
    page = ListParameters.properties.page.default,
    offset = 0,
    sort = SORTS[0],
    order = ORDERS[0],
  } = parameters
  return { page: Math.min(page, MAX_PAGE), offset, sort, order, filter: filterOf(parameters) }
}

function filterOf(parameters: ListParameters) {
  return {
    search: parameters['filter[search]'],
    start_date: parameters['filter[start_date]'],
    end_date: parameters['filter[end_date]'],
    product_ids: parameters['filter[product_ids][]']?.map(String),
    user_ids: parameters['filter[user_ids][]']?.map(String),
    seids: parameters['filter[seids][]'],
    proctor_ids: parameters['filter[proctor_ids][]']?.map(String),
    organization_ids: parameters['filter[organization_ids][]']?.map(String),
    user_record_status: parameters['filter[user_record_status][]'],
    legacy_record: parameters['filter[legacy_record][]'],
  }
}
