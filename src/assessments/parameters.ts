import { type Static, Type as t } from '@sinclair/typebox'

/**
 * The parameters of the list request (spec 4.2), each with its type, default and limits. The parser reads
 * the query string by these schemas, so that what is documented is what is enforced.
 */

/** Values a filter may be given at most; a clear 400 past it. */
export const MAX_FILTER_VALUES = 1000

/** Spec 8: larger page sizes are silently reduced to this. */
export const MAX_PAGE = 100

/** An id: an integer on the wire, a decimal string here, because bigint exceeds JavaScript's exact integers. */
const Id = t.Unsafe<string>({ type: 'integer', format: 'int64' })

const ids = (description: string) => t.Optional(t.Array(Id, { maxItems: MAX_FILTER_VALUES, description }))
const day = (description: string) => t.Optional(t.String({ format: 'date', description }))

/** The filters, by their names in filter[…]. */
export const Filter = t.Object({
  search: t.Optional(
    t.String({
      description:
        'Case-insensitive partial match on assessment name, first name or last name. Two words also match as first name followed by last name.',
    }),
  ),
  start_date: day('Completed on or after this day, in the time zone of the platform.'),
  end_date: day('Completed on or before this day, the whole of it, in the time zone of the platform.'),
  product_ids: ids('Specific assessments.'),
  user_ids: ids('Specific educators, by platform user ID.'),
  seids: t.Optional(
    t.Array(t.String(), {
      maxItems: MAX_FILTER_VALUES,
      description: 'Specific educators, by State Educator ID.',
    }),
  ),
  proctor_ids: ids('Specific proctors, by platform user ID: of any part of the assessment.'),
  organization_ids: ids('Educators belonging to these organizations.'),
  user_record_status: t.Optional(
    t.Array(t.Union([t.Literal('active'), t.Literal('archived')]), {
      maxItems: MAX_FILTER_VALUES,
      description: 'Record status of the educator.',
    }),
  ),
  legacy_record: t.Optional(
    t.Array(t.Boolean(), {
      maxItems: MAX_FILTER_VALUES,
      description: 'true: migrated from a prior system; false: created natively; both: everything.',
    }),
  ),
})

/** What can be sorted by; the first is the default. */
export const SORTS = ['certified_on', 'user_name', 'proctor_name', 'product_name'] as const
/** One of SORTS. */
export type Sort = (typeof SORTS)[number]

/** The directions; the first is the default. */
export const ORDERS = ['ASC', 'DESC'] as const
/** One of ORDERS. */
export type Order = (typeof ORDERS)[number]

/** The parameters of a list request. */
export const ListQuery = t.Object({
  page: t.Integer({
    minimum: 1,
    default: 50,
    description: 'Page size, not a page number. Values above 100 are reduced to 100.',
  }),
  offset: t.Integer({ minimum: 0, default: 0, description: 'Number of records to skip.' }),
  sort: t.Union(
    SORTS.map(sort => t.Literal(sort)),
    { default: 'certified_on', description: 'An unrecognised value falls back to the default.' },
  ),
  order: t.Union(
    ORDERS.map(order => t.Literal(order)),
    { default: 'ASC', description: 'Case-insensitive; anything else falls back to ASC.' },
  ),
  filter: Filter,
})

/** Filters that have been read: every value valid, blank ones absent, ids as decimal strings. */
export type Filter = Static<typeof Filter>

/** A list request that has been read: every value valid, blanks dropped, defaults and the cap applied. */
export type ListQuery = Static<typeof ListQuery>

/** What may be sent, by the names in the query string: for typed clients. Ids may be strings, lest they be rounded. */
export type ListParameters = Partial<Omit<ListQuery, 'filter'>> & {
  [Name in keyof Filter as NonNullable<Filter[Name]> extends unknown[]
    ? `filter[${Name}][]`
    : `filter[${Name}]`]?: Name extends `${string}_ids` ? (string | number)[] : NonNullable<Filter[Name]>
}
