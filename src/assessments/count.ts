import { type SQL, sql } from 'drizzle-orm'
import { exportPeople as people, exportRecords as r } from '../../db/schema.ts'
import { onlyRow, type Runner, statement } from '../database/statement.ts'
import { allOf, conditionsOf } from './conditions.ts'
import type { Constraints, Values } from './constraints.ts'
import { ofOrganizations, ofProducts, type Sets } from './scope.ts'
import { isNamed, productsNamed, searchOf } from './search.ts'
import { Selection } from './selection.ts'
import { readSpread } from './spread.ts'

/**
 * Counts the records of a list, of which nothing is remembered or nothing that is right, and reads how they are spread.
 * @param isExact whether the records are counted even if writers keep their number
 */
export async function readSelection(
  db: Runner,
  sets: Sets,
  { filters, values }: Constraints,
  isExact = false,
): Promise<Selection> {
  const isCounted = isExact || filters.length > 0
  const [spread, counted] = await Promise.all([
    readSpread(db, sets),
    isCounted ? countMatches(db, sets, filters, values, isExact) : undefined,
  ])
  return new Selection(counted ?? spread.records, isKeptCount(filters) && !isExact, spread)
}

/** Whether the count of lists with these filters is made of numbers that writers keep, unless it is an exact one. */
const isKeptCount = (filters: string[]) => filters.every(name => name === searchOf(filters))

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
function countSql(filters: string[], { isExact, isLetter }: Counting = {}): SQL {
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
