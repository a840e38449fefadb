import { type Static, Type as t } from '@sinclair/typebox'
import {
  boolean,
  canonicalNumber,
  day,
  type Issue,
  id,
  isBigint,
  many,
  one,
  oneOf,
  oneOrFirst,
  type Parameter,
  readAll,
  type SentValues,
  text,
  type ValuesOf,
  validator,
  wholeNumber,
} from './parameters.ts'

/** The schemas of the HTTP API: what is validated, its types, and its part of the OpenAPI document. */

/** Larger page sizes are silently reduced to this (contract L1). */
export const MAX_PAGE = 100

/** The sort keys; the first is the default. */
export const SORTS = ['certified_on', 'user_name', 'proctor_name', 'product_name'] as const
export type Sort = (typeof SORTS)[number]

/** The directions; the first is the default. */
export const ORDERS = ['ASC', 'DESC'] as const
export type Order = (typeof ORDERS)[number]

const PRESETS: { page: number; offset: number; sort: Sort; order: Order } = {
  page: 50,
  offset: 0,
  sort: SORTS[0],
  order: ORDERS[0],
}

/** The parameters of the list that are no filters (contract L1 to L4). */
export const PAGING = {
  page: one(
    wholeNumber(1, PRESETS.page, MAX_PAGE),
    100,
    'Page size, not a page number. Values above 100 are reduced to 100.',
  ),
  offset: one(wholeNumber(0, PRESETS.offset), 200, 'Number of records to skip.'),
  sort: oneOrFirst(SORTS, 'An unrecognised value falls back to the default.'),
  order: oneOrFirst(ORDERS, 'Case-insensitive; anything else falls back to ASC.', text => text.toUpperCase()),
}

/** The filters of the list (contract F2 to F11). */
export const FILTERS = {
  search: one(
    text,
    'ana ruiz',
    'Case-insensitive partial match on assessment name, first name or last name. Two words also match as first name followed by last name.',
  ),
  start_date: one(
    day,
    '2026-03-01',
    'Completed on this day or later. A day begins and ends in the time zone of the platform.',
  ),
  end_date: one(
    day,
    '2026-03-31',
    'Completed on this day, to its end, or earlier. A day begins and ends in the time zone of the platform.',
  ),
  product_ids: many(id, [6, 7], 'These assessments.'),
  user_ids: many(id, [501, 502], 'These educators, by platform user ID.'),
  seids: many(
    text,
    ['1234567890'],
    'These educators, by State Educator ID, compared character by character.',
  ),
  proctor_ids: many(
    id,
    [77],
    'Any part of the assessment was supervised by one of these users, by platform user ID.',
  ),
  organization_ids: many(
    id,
    [12],
    'The assessment belongs to one of these organizations. One outside the scope matches nothing, and is no error.',
  ),
  user_record_status: many(
    oneOf(['active', 'archived']),
    ['active'],
    'Record status of the educator: active, archived, or both.',
  ),
  legacy_record: many(
    boolean,
    [false],
    'true: records migrated from a prior system; false: the others; or both.',
  ),
}

/** The filters of a request by their bare names; those that were not sent are absent. */
export type Filter = Partial<ValuesOf<typeof FILTERS>>

/** A list request as it was read. */
export type ListQuery = ValuesOf<typeof PAGING> & { filter: Filter }

/** The name under which a filter is sent: `filter[user_ids][]`. */
export const sentName = (filter: string, { schema }: Parameter): string =>
  `filter[${filter}]${schema.type === 'array' ? '[]' : ''}`

/** All parameters of the list, by the names under which they are sent. */
export const LIST_PARAMETERS: Record<string, Parameter> = {
  ...PAGING,
  ...Object.fromEntries(
    Object.entries(FILTERS).map(([name, filter]) => [sentName(name, filter), filter] as const),
  ),
}

/**
 * The validator of the list query. TypeBox checks values, and cannot read them from text once: this reads them. It takes
 * what query-string.ts finds, by the names without the brackets of lists; `filter` is a name that cannot be read.
 */
export const ListQuery = validator<Record<string, SentValues | undefined>, ListQuery>(
  Object.fromEntries(Object.entries(LIST_PARAMETERS).map(([name, { schema }]) => [name, schema])),
  sent => {
    const paging = readAll(PAGING, PRESETS, name => ({ name, sent: sent[name] }))
    const filters = readAll<Filter>(FILTERS, {}, key => {
      const name = `filter[${key}]`
      return { name, sent: sent[name] }
    })
    const issues = [...(sent.filter ? [UNREADABLE_NAME] : []), ...paging.issues, ...filters.issues]
    return issues.length > 0 ? { issues } : { value: { ...paging.values, filter: filters.values } }
  },
)

const UNREADABLE_NAME: Issue = {
  message: 'filter must be sent as filter[name]=value or filter[name][]=value',
  path: ['filter'],
}

/** The validator of the path of a record: digits, within bigint. */
export const RecordPath = validator<{ id: string }, { id: string }>(
  {
    id: {
      ...id.schema,
      description: 'ID of an overall assessment. The `assessment_id` of a part is not found.',
      examples: [20521],
    },
  },
  sent => {
    const number = /^\d+$/.test(sent.id) ? canonicalNumber(sent.id) : undefined
    return number !== undefined && isBigint(number)
      ? { value: { id: number } }
      : { issues: [{ message: 'id must be the id of an assessment', path: ['id'] }] }
  },
)

/** The schemas of contract R2, R7 and L6. The documents are rendered by SQL (db/migrations); a test compares them. */

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

/** Contract L5 and L6. */
export const AssessmentList = t.Object({
  data: t.Array(AssessmentRecord),
  meta: t.Object({
    count: t.Integer({ description: 'Total records matching the filters, ignoring paging.' }),
    offset: t.Integer({ format: 'int64', description: 'Offset applied to this response.' }),
    page: t.Integer({ description: 'Page size applied, after the cap of 100.' }),
  }),
})

/** Contract T1 to T4: the body of a token request, as form or as JSON. */
export const TokenRequest = t.Object(
  {
    grant_type: t.Literal('client_credentials', { description: 'Must be client_credentials.' }),
    client_id: t.Optional(
      t.String({
        description: 'Public identifier of the integration; here, or as the user name of HTTP Basic.',
      }),
    ),
    client_secret: t.Optional(
      t.String({ description: 'Secret of the integration; here, or as the password of HTTP Basic.' }),
    ),
  },
  // They are ignored. Without this, Elysia writes `false` into the schema when the route gets its first request.
  { additionalProperties: true },
)
export type TokenRequest = Static<typeof TokenRequest>

/** Contract T7. */
export const TokenResponse = t.Object({
  access_token: t.String({ description: 'Opaque bearer token.' }),
  token_type: t.Literal('Bearer', { description: 'Always Bearer.' }),
  expires_in: t.Integer({ description: 'Lifetime in seconds; 7200.' }),
  created_at: t.Integer({ format: 'int64', description: 'Creation time as a Unix timestamp (seconds).' }),
})
export type TokenResponse = Static<typeof TokenResponse>

/** The errors of the API other than 401 (contract A4). */
export const ApiError = t.Object({
  errors: t.Array(
    t.Object({
      message: t.String({ description: 'What is wrong, for people to read.' }),
      parameter: t.Optional(
        t.String({ description: 'The query parameter that it is about, where it is about one.' }),
      ),
    }),
    { minItems: 1 },
  ),
})
export type ApiError = Static<typeof ApiError>

/** The errors of the token endpoint, and every 401 (contract T4, T5, A3; RFC 6749 §5.2). */
export const OAuthError = t.Object({
  error: t.String({ description: 'A code for programs, of RFC 6749 or RFC 6750.' }),
  error_description: t.String({ description: 'What is wrong, for people to read.' }),
})
export type OAuthError = Static<typeof OAuthError>
