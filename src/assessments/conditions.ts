import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { exportPeople, exportProducts, exportRecords } from '../../db/schema.ts'
import { type Filter, isBigint, type Sort } from '../contract.ts'
import { SCOPE_SETS, type ScopeSet } from './scope.ts'

/** The conditions of filters and of the search for a record to be in a list; scope.ts has those of the scope. */

/** Values of a statement's placeholders, by name. */
export type Values = Record<string, unknown>

/** The columns that filters and sorts look at: of records, or of the log of changes, which has them as they were. */
export type Columns = Record<
  | 'id'
  | 'organizationId'
  | 'productId'
  | 'userId'
  | 'seid'
  | 'isArchived'
  | 'legacyRecord'
  | 'proctorIds'
  | 'certifiedOn'
  | 'userNameKey'
  | 'proctorNameKey'
  | 'productNameKey',
  SQLWrapper
>

/** The column of a sort key. */
export function keyOf(sort: Sort, columns: Columns = exportRecords): SQL {
  const { certifiedOn, userNameKey, proctorNameKey, productNameKey } = columns
  const keys = {
    certified_on: certifiedOn,
    user_name: userNameKey,
    proctor_name: proctorNameKey,
    product_name: productNameKey,
  }
  return sql`${keys[sort]}`
}

/** A trigram index finds people. For a text without a trigram the whole index would be read: see hasTrigram(). */
const SEARCHES = ['search', 'search_short'] as const
export type Search = (typeof SEARCHES)[number]

/** The search among the names of filters. It may leave few records or most. */
export function searchOf(filters: string[]): Search | undefined {
  return SEARCHES.find(name => filters.includes(name))
}

/** A pattern, folded as names are. The function is immutable: the planner sees a constant, and drops a condition on null. */
const folded = (name: string) => sql`search_folded(${sql.placeholder(name)}::text)`
const phrase = folded('phrase')
const fullName = folded('full_name')

/** Whether a person has such a name. Names are one on each line, and no search text has a line break: one LIKE covers both. */
export function isNamed(search: Search): SQL {
  const named = sql`(${exportPeople.namesKey} like ${phrase} or ${exportPeople.namesKey} like ${fullName})`
  // The planner uses no index for it, and expects as many people.
  return search === 'search' ? named : sql`${named} is true`
}

/** The ids of the products that have such a name. */
export const productsNamed = sql`
          select ${exportProducts.productId} from ${exportProducts} where ${exportProducts.nameKey} like ${phrase}`

/**
 * Whether the search finds a record. coalesce() prevents a join. People whom an index finds are looked up once. Otherwise
 * the person of each record is: the names of all people take as long as 20,000 of these.
 */
function isFound(search: Search, { userId, productId }: Columns): SQL {
  const isOfNamed =
    search === 'search'
      ? sql`${userId} in (select ${exportPeople.userId} from ${exportPeople} where ${isNamed(search)})`
      : sql`(select ${isNamed(search)} from ${exportPeople} where ${exportPeople.userId} = ${userId})`
  return sql`coalesce(${productId} in (${productsNamed}) or ${isOfNamed}, false)`
}

/** Whether the search found a record in the log of changes: by the names as they were then, one on each line. */
export const wasFound = sql`coalesce(search_text like ${phrase} or search_text like ${fullName}, false)`

/** The SQL of each filter but organizations and products, which narrow the scope's two sets. */
export const conditions: Record<string, (columns: Columns) => SQL> = {
  start_date: ({ certifiedOn }) => sql`${certifiedOn} >= ${sql.placeholder('start_date')}::date`,
  end_date: ({ certifiedOn }) => sql`${certifiedOn} <= ${sql.placeholder('end_date')}::date`,
  user_ids: ({ userId }) => sql`${userId} = any (${sql.placeholder('user_ids')}::bigint[])`,
  seids: ({ seid }) => sql`${seid} = any (${sql.placeholder('seids')}::text[])`,
  proctor_ids: ({ proctorIds }) => sql`${proctorIds} && ${sql.placeholder('proctor_ids')}::bigint[]`,
  user_record_status: ({ isArchived }) =>
    sql`${isArchived} = (${sql.placeholder('user_record_status')} = 'archived')`,
  legacy_record: ({ legacyRecord }) => sql`${legacyRecord} = ${sql.placeholder('legacy_record')}::boolean`,
  ...Object.fromEntries(SEARCHES.map(search => [search, (columns: Columns) => isFound(search, columns)])),
}

/** The conditions of these filters for a record, or for a row of the log. */
export const conditionsOf = (filters: string[], columns: Columns = exportRecords): SQL[] =>
  filters.map(name => conditions[name]?.(columns) as SQL)

export const allOf = (all: SQL[]): SQL =>
  sql.join(
    all,
    sql`
      and `,
  )

/** Filters that leave few records, which an index finds: a walk along the sort key might read all others first. */
export const NARROW_FILTERS = ['user_ids', 'seids', 'proctor_ids']

/** What a request asks for beyond its scope. */
export interface Constraints {
  /** The names of the conditions of filters that constrain anything. */
  filters: string[]
  /** The sets of the scope that are narrowed. */
  narrowed: ScopeSet[]
  /** The values of both. */
  values: Values
}

/** The constraints of a filter. */
export function constraints(filter: Filter): Constraints {
  const values: Values = {
    organizations: filter.organization_ids?.filter(isBigint),
    products: filter.product_ids?.filter(isBigint),
    start_date: filter.start_date,
    end_date: filter.end_date,
    user_ids: filter.user_ids?.filter(isBigint),
    seids: filter.seids,
    proctor_ids: filter.proctor_ids?.filter(isBigint),
    user_record_status: onlyOne(filter.user_record_status),
    legacy_record: onlyOne(filter.legacy_record),
    ...(filter.search && searchValues(filter.search)),
  }
  const isGiven = (name: string) => values[name] !== undefined
  return { filters: Object.keys(conditions).filter(isGiven), narrowed: SCOPE_SETS.filter(isGiven), values }
}

/** The value of a two-valued filter; both of them together constrain nothing. */
const onlyOne = <Value>(values: Value[] = []) => (new Set(values).size === 1 ? values[0] : undefined)

/**
 * Whether each pattern of a search has a trigram, in databases of any locale. To some of them letters beyond ASCII are
 * no letters. Two ASCII letters and a third character of the same word always have one: "sia", or "si" and a space.
 */
const hasTrigram = (text: string) => /[a-z0-9]{2}\S|\S[a-z0-9]{2}/i.test(text)

/** The search and its patterns, for a text that is not blank; two words are a first and a last name, too. */
function searchValues(value: string): Values {
  const literal = (text: string) => text.replaceAll(/[\\%_]/g, '\\$&')
  const text = value.trim()
  const words = text.split(/\s+/).map(literal)
  return {
    [hasTrigram(text) ? 'search' : 'search_short']: true,
    phrase: `%${literal(text)}%`,
    full_name: words.length === 2 ? `%${words[0]}%\n%${words[1]}%\n%` : null,
  }
}
