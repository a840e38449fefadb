import { type SQL, sql } from 'drizzle-orm'
import { exportPeople as people, exportProducts as products, exportRecords as r } from '../../db/schema.ts'
import type { Filter } from '../contract.ts'
import { isBigint } from '../parameters.ts'

/**
 * The scope of a token: a set of organizations and a set of products, as arrays of Postgres, in text. A request narrows them,
 * and never widens them (contract S2).
 */
export interface Sets {
  organizations: string
  products: string
}

/** Values of a statement's placeholders, by name. */
export type Values = Record<string, unknown>

/**
 * Up to so many records of a list are sorted for each page. More are walked. Both take some 6 ms near it, in 1,000,000 records.
 * Tests change it, so that short lists are walked, too.
 */
export const LIMITS = { sorted: 4000 }
export const mostSorted = sql`${sql.placeholder('mostSorted')}::bigint`

/** The sets of a scope, narrowed by those filters of a request that name organizations and products. They stay ascending. */
export function narrowed(sets: Sets, { organization_ids, product_ids }: Filter): Sets {
  return {
    organizations: common(sets.organizations, organization_ids),
    products: common(sets.products, product_ids),
  }
}

function common(set: string, ids: string[] | undefined): string {
  if (!ids) return set
  const asked = new Set(ids)
  const own = set.slice(1, -1).split(',')
  return `{${own.filter(id => asked.has(id))}}`
}

const bigints = (name: string) => sql`${sql.placeholder(name)}::bigint[]`

/** The narrowed sets of the request. */
export const SETS = { organizations: bigints('organizations'), products: bigints('products') }

/** Whether a row is in the sets: a record, or a count that writers keep. */
export const inSets = sql`organization_id = any (${SETS.organizations}) and product_id = any (${SETS.products})`

/**
 * The same for a scope that a request does not narrow, by the sets of the `token`, so that one prepared plan serves all values. It
 * is a binary search, because the sets are ascending. The empty array decompresses a large set once, and not for each record.
 */
export const inSetsOfToken = sql`${isIn(sql`organization_id`, sql`organization_ids`)}
    and ${isIn(sql`product_id`, sql`product_ids`)}`

function isIn(id: SQL, set: SQL): SQL {
  const all = sql`(select ${set} || '{}' from token)`
  return sql`${all}[width_bucket(${id}, ${all})] = ${id}`
}

/** A pattern, folded as the names are. The function is immutable and strict, so the planner sees a constant, or null. */
const folded = (name: string) => sql`search_folded(${sql.placeholder(name)}::text)`

/** Whether the search finds a record by its product. */
const isProductFound = sql`${r.productId} in (
      select ${products.productId} from ${products} where ${products.nameKey} like ${folded('search')})`

/** Whether the search finds a person. The names stand a line each, and no search has a line break: one LIKE covers both. */
const isPersonFound = sql`(${people.namesKey} like ${folded('search')} or ${people.namesKey} like ${folded('full_name')})`

/** The filters that ask something of a record. Those of organizations and products narrow the sets. */
export type Constraint = Exclude<keyof Filter, 'organization_ids' | 'product_ids'>

/** What each of them asks. */
const CONDITIONS: Record<Constraint, SQL> = {
  start_date: sql`${r.certifiedOn} >= ${sql.placeholder('start_date')}::date`,
  end_date: sql`${r.certifiedOn} <= ${sql.placeholder('end_date')}::date`,
  user_ids: sql`${r.userId} = any (${bigints('user_ids')})`,
  seids: sql`${r.seid} = any (${sql.placeholder('seids')}::text[])`,
  proctor_ids: sql`${r.proctorIds} && ${bigints('proctor_ids')}`,
  user_record_status: sql`${r.isArchived} = (${sql.placeholder('user_record_status')} = 'archived')`,
  legacy_record: sql`${r.legacyRecord} = ${sql.placeholder('legacy_record')}::boolean`,
  search: sql`(${isProductFound}
    or (select ${isPersonFound} from ${people} where ${people.userId} = ${r.userId}))`,
}

/** What some filters ask of a record. */
export const conditionsOf = (filters: Constraint[]): SQL[] => filters.map(name => CONDITIONS[name])

/** The filters of a request that constrain anything but the sets of the scope, and their values. */
export function constraints(filter: Filter): { filters: Constraint[]; values: Values } {
  const values: Record<Constraint, unknown> = {
    start_date: filter.start_date,
    end_date: filter.end_date,
    user_ids: filter.user_ids?.filter(isBigint),
    seids: filter.seids,
    proctor_ids: filter.proctor_ids?.filter(isBigint),
    user_record_status: onlyOne(filter.user_record_status),
    legacy_record: onlyOne(filter.legacy_record),
    search: filter.search ? contains(filter.search.trim()) : undefined,
  }
  const filters = (Object.keys(CONDITIONS) as Constraint[]).filter(name => values[name] !== undefined)
  return { filters, values: { ...values, full_name: fullName(filter.search) } }
}

/** The value of a two-valued filter. Both of them together constrain nothing. */
const onlyOne = <Value>(values: Value[] = []) => (new Set(values).size === 1 ? values[0] : undefined)

/** The pattern of a search for a text (contract F2). */
const contains = (text: string) => `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`

/** The pattern of two words as a first and a last name; null for any other text. */
function fullName(search = ''): string | null {
  const [first, last, third] = search.trim().split(/\s+/)
  return first && last && third === undefined ? `${contains(first)}\n${contains(last)}\n%` : null
}

/** Whether a search is for a text without three letters in a row. The index of names would be read as a whole for it. */
export const isShortSearch = ({ search }: Filter): boolean =>
  search !== undefined && !/[\p{L}\p{N}]{3}/u.test(search)

/** Whether a search looks for names among all records. Beside a filter that names people, it looks at theirs. */
export const isSearch = (filters: Constraint[]): boolean =>
  filters.includes('search') && !namesPeople(filters)

/** Whether a filter names people. They mostly have few records, which an index finds, and are always sorted. */
export const namesPeople = (filters: Constraint[]): boolean => PEOPLE.some(name => filters.includes(name))
const PEOPLE: Constraint[] = ['user_ids', 'seids', 'proctor_ids']

/**
 * All matches, by any index, with their ids and sort keys. The planner may find them along the index of the sort, too, except
 * those of people: it does not know how far away they are, and the offset keeps it from that.
 */
export function matching(key: SQL, filters: Constraint[], isShort: boolean): SQL {
  const matches = (from: SQL, ...conditions: SQL[]) => sql`
  select ${r.id} as id, ${key} as key from ${from}
  where ${all([inSets, ...conditions])}`
  const conditions = conditionsOf(filters)
  if (namesPeople(filters)) return sql`${matches(sql`${r}`, ...conditions)} offset 0`
  if (!isSearch(filters)) return matches(sql`${r}`, ...conditions)
  const others = conditionsOf(filters.filter(name => name !== 'search'))
  // The planner uses no index for a condition that "is true".
  const isPerson = isShort ? sql`${isPersonFound} is true` : isPersonFound
  const isLarge = sql`(select records from scope) > ${mostSorted}`
  return sql`
  select * from (${matches(sql`${r}`, ...conditions, sql`(select records from scope) <= ${mostSorted}`)}
  union all${matches(sql`${r}`, ...others, isProductFound, isLarge)}
  union all${matches(OF_PEOPLE, ...others, isPerson, sql`(${isProductFound}) is not true`, isLarge)}
  ) as found offset 0`
}

/**
 * How many records the scope of a search has. If they are few, it looks at each. Otherwise it finds the people first, which
 * takes 500 ms for a letter that 200,000 of them have.
 */
export const SCOPE_OF_SEARCH = sql`
  select coalesce(sum(records), 0) as records from export_counts where ${inSets}`

/** The planner overestimates a look-up for each person, and would join with all records: 300 ms instead of 40 for a name. */
const OF_PEOPLE = sql`${people} cross join lateral (
    select * from ${r} where ${r.userId} = ${people.userId} offset 0
  ) as ${r}`

/** All of some conditions, a line each. */
export const all = (conditions: SQL[]): SQL => sql.join(conditions, AND)
const AND = sql`
    and `
