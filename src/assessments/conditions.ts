import { type SQL, sql } from 'drizzle-orm'
import { exportPeople, exportProducts, exportRecords as r } from '../../db/schema.ts'
import { type Filter, isBigint } from '../contract.ts'

/** The conditions for a record to be in a list: the scope of the token, the filters, the search. */

/** Values of a statement's placeholders, by name. */
export type Values = Record<string, unknown>

/** The sets of a scope. A request can narrow either of them and never widen it (spec 4.2, rule 4). */
const SCOPE_SETS = ['organizations', 'products'] as const
export type ScopeSet = (typeof SCOPE_SETS)[number]

/** The two sets, in a statement with scopeOf(). */
export const organizations = sql`(select organization_ids from scope)`
const products = sql`(select product_ids from scope)`

/** The common table expression `scope`: the sets that a token may read, narrowed by the request. */
export function scopeOf(narrowed: ScopeSet[]): SQL {
  const set = (name: ScopeSet, column: SQL) =>
    narrowed.includes(name)
      ? sql`array(select unnest(${column}) intersect select unnest(${sql.placeholder(name)}::bigint[]) order by 1)`
      : // A copy: it is decompressed once, and not for each record.
        sql`${column} || '{}'`
  return sql`scope as materialized (
  select ${set('organizations', sql`organization_ids`)} as organization_ids, ${set('products', sql`product_ids`)} as product_ids
  from token
)`
}

/** Whether there is anything to read: for an empty set Postgres would scan all records. */
export const isScopeFilled = sql`cardinality(${organizations}) > 0 and cardinality(${products}) > 0`

/** A binary search in a set, which is sorted. Products are searched first: they are fewer. */
const isIn = (set: SQL, id: unknown) => sql`${set}[width_bucket(${id}, ${set})] = ${id}`

/** coalesce() makes the planner expect half of the records; without, it expects one in 40,000, and sorts them all. */
export const inScope = sql`coalesce(${isIn(products, r.productId)} and ${isIn(organizations, r.organizationId)}, false)`
export const inProducts = sql`coalesce(${isIn(products, r.productId)}, false)`
export const inOrganizations = sql`coalesce(${isIn(organizations, r.organizationId)}, false)`

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
function isFound(search: Search): SQL {
  const isOfNamed =
    search === 'search'
      ? sql`${r.userId} in (select ${exportPeople.userId} from ${exportPeople} where ${isNamed(search)})`
      : sql`(select ${isNamed(search)} from ${exportPeople} where ${exportPeople.userId} = ${r.userId})`
  return sql`coalesce(${r.productId} in (${productsNamed}) or ${isOfNamed}, false)`
}

/** Whether the search found a record in the log of changes: by the names as they were then, one on each line. */
export const wasFound = sql`coalesce(search_text like ${phrase} or search_text like ${fullName}, false)`

/**
 * All records that the search finds, under the name of their table. If no product has such a name, an index finds the
 * people. If one has, the records are many: a scan finds them, with a hash table of people that its processes share.
 */
export function recordsFound(search: Search): SQL {
  return sql`(
      select ${r}.* from ${exportPeople} join ${r} on ${r.userId} = ${exportPeople.userId}
      where not exists (${productsNamed}) and ${isNamed(search)}
      union all
      select ${r}.* from ${r}
      left join ${exportPeople} on ${r.userId} = ${exportPeople.userId} and ${isNamed(search)}
      where exists (${productsNamed}) and (${exportPeople.userId} is not null or ${r.productId} in (${productsNamed}))
    ) as ${r}`
}

/** The SQL of each filter but organizations and products, which narrow the scope's two sets. */
export const conditions: Record<string, SQL> = {
  start_date: sql`${r.certifiedOn} >= ${sql.placeholder('start_date')}::date`,
  end_date: sql`${r.certifiedOn} <= ${sql.placeholder('end_date')}::date`,
  user_ids: sql`${r.userId} = any (${sql.placeholder('user_ids')}::bigint[])`,
  seids: sql`${r.seid} = any (${sql.placeholder('seids')}::text[])`,
  proctor_ids: sql`${r.proctorIds} && ${sql.placeholder('proctor_ids')}::bigint[]`,
  user_record_status: sql`${r.isArchived} = (${sql.placeholder('user_record_status')} = 'archived')`,
  legacy_record: sql`${r.legacyRecord} = ${sql.placeholder('legacy_record')}::boolean`,
  ...Object.fromEntries(SEARCHES.map(search => [search, isFound(search)])),
}

/** Filters that leave few records, which an index finds: a walk along the sort key might read all others first. */
export const NARROW_FILTERS = ['user_ids', 'seids', 'proctor_ids']

/** The filters that constrain anything, by name of their condition; the sets that are narrowed; the values of both. */
export function constraints(filter: Filter) {
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
