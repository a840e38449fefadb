import { type SQL, sql } from 'drizzle-orm'
import { exportPeople as people, exportRecords as r } from '../../db/schema.ts'
import { onlyRow, type Runner, statement } from '../postgres/statement.ts'
import { allOf, conditionsOf, isNamed, productsNamed, searchOf, type Values } from './conditions.ts'

/** The two sets that a request reads: those of its scope, narrowed by its filters. Each is an array of Postgres, as text. */
export interface Sets {
  organizations: string
  products: string
}

/** How the records of two sets are spread over all records, by the counts that writers keep. */
export interface Spread {
  /** Of an organization and a product of the sets: what matches without a filter. */
  records: number
  /** Of an organization of the set and any product, and the reverse. */
  ofOrganizations: number
  ofProducts: number
  all: number
  /** Of organizations of the set that have no record of the products. */
  ofOthers: number
  /** How many organizations of the set have records of the products, and how many products the set has. */
  organizationCount: number
  productCount: number
}

const value = sql.placeholder
const ofOrganizations = sql`organization_id = any (${value('organizations')}::bigint[])`
const ofProducts = sql`product_id = any (${value('products')}::bigint[])`

/** Reads how the records of two sets are spread, from one row for each organization and product: 20,000 take 2 ms. */
export async function readSpread(db: Runner, sets: Sets): Promise<Spread> {
  return onlyRow(await spread(db, { ...sets }))
}

/** Planned for its values, as all statements here: only in arrays that are constants does Postgres look up by hash. */
const spread = statement<Values, Spread>(
  sql`
  select
    coalesce(sum(of_products) filter (where ${ofOrganizations}), 0)::float8 as "records",
    coalesce(sum(records) filter (where ${ofOrganizations}), 0)::float8 as "ofOrganizations",
    coalesce(sum(of_products), 0)::float8 as "ofProducts",
    coalesce(sum(records), 0)::float8 as "all",
    coalesce(sum(records) filter (where ${ofOrganizations} and of_products is null), 0)::float8 as "ofOthers",
    (count(of_products) filter (where ${ofOrganizations}))::float8 as "organizationCount",
    cardinality(${value('products')}::bigint[])::float8 as "productCount"
  from (
    select organization_id, sum(records) as records, sum(records) filter (where ${ofProducts}) as of_products
    from export_counts group by organization_id
  ) as each`,
  false,
)

/** Whether the count of lists with these filters is made of numbers that writers keep, unless it is an exact one. */
export const isKeptCount = (filters: string[]) => filters.every(name => name === searchOf(filters))

/** What the text of a count depends on, beside the filters. */
interface Counting {
  /** Whether the numbers that writers keep are not used: writes past the triggers make them wrong. */
  isExact?: boolean
  /** Whether the search is for one letter, which most people have in their names. */
  isLetter?: boolean
}

/**
 * Counts the records of two sets that match filters. Without filters, Spread has the number that writers keep.
 * @param values those of the filters' conditions
 */
export async function countMatches(
  db: Runner,
  sets: Sets,
  filters: string[],
  values: Values,
  isExact = false,
): Promise<number> {
  // For an empty set Postgres would read all records.
  if (sets.organizations === '{}' || sets.products === '{}') return 0
  const isLetter = [...String(values.phrase)].length === '%?%'.length
  const query = statement<Values, { count: number }>(countSql(filters, { isExact, isLetter }), false)
  return onlyRow(await query(db, { ...values, ...sets })).count
}

/** The statement of a count. Its values are those of the filters, and the two sets in place of what the request narrows. */
export function countSql(filters: string[], { isExact, isLetter }: Counting = {}): SQL {
  const search = searchOf(filters)
  const others = filters.filter(name => name !== search)
  if (!search) return sql`select ${countOf(sql`${r}`, others)}::float8 as count`
  // A record is found by its product or by its person. Of a product, writers keep how many records there are.
  const byProduct =
    isKeptCount(filters) && !isExact
      ? sql`(select coalesce(sum(records), 0) from export_counts where product_id in (${productsNamed}) and ${inSets})`
      : countOf(sql`${r}`, others, sql`${r.productId} in (${productsNamed})`)
  const byPerson = sql`${r.userId} = ${people.userId} and coalesce(${r.productId} not in (${productsNamed}), true)`
  const byPeople = isLetter
    ? countOf(sql`${people} join ${r} on true`, others, sql`${isNamed(search)} and ${byPerson}`)
    : // Each by themselves: a join that reads every record is expected to take a tenth of its time.
      sql`(
    select coalesce(sum(each.count), 0) from ${people} cross join lateral (
      select ${countOf(sql`${r}`, others, byPerson)} as count
    ) as each where ${isNamed(search)})`
  return sql`select (${byProduct} + ${byPeople})::float8 as count`
}

const inSets = sql`${ofOrganizations} and ${ofProducts}`

/** How many of some records are in both sets and match filters and another condition. */
function countOf(from: SQL, filters: string[], condition?: SQL): SQL {
  const all = [inSets, ...conditionsOf(filters), ...(condition ? [condition] : [])]
  return sql`(select count(*) from ${from} where ${allOf(all)})`
}
