import { type SQL, sql } from 'drizzle-orm'
import { exportPeople, exportProducts, exportRecords as r } from '../../db/schema.ts'
import { GIVEN } from './scope.ts'

/** The search (contract F2): names of a person or of a product that contain a text, whatever its case. */

/** A trigram index finds people. For a text without a trigram the whole index would be read: see hasTrigram(). */
export const SEARCHES = ['search', 'search_short'] as const
export type Search = (typeof SEARCHES)[number]

/** The search among the names of filters. It may leave few records or most. */
export function searchOf(filters: string[]): Search | undefined {
  return SEARCHES.find(name => filters.includes(name))
}

/** The search and its patterns, for a text that is not blank; two words are a first and a last name, too. */
export function searchValues(value: string): Record<string, unknown> {
  const literal = (text: string) => text.replaceAll(/[\\%_]/g, '\\$&')
  const text = value.trim()
  const words = text.split(/\s+/).map(literal)
  return {
    [hasTrigram(text) ? 'search' : 'search_short']: true,
    phrase: `%${literal(text)}%`,
    full_name: words.length === 2 ? `%${words[0]}%\n%${words[1]}%\n%` : null,
  }
}

/**
 * Whether each pattern of a search has a trigram, in databases of any locale. To some of them letters beyond ASCII are
 * no letters. Two ASCII letters and a third character of the same word always have one: "sia", or "si" and a space.
 */
const hasTrigram = (text: string) => /[a-z0-9]{2}\S|\S[a-z0-9]{2}/i.test(text)

/** A pattern, folded as names are. The function is immutable: the planner sees a constant, and drops a condition on null. */
const folded = (name: string) => sql`search_folded(${sql.placeholder(name)}::text)`
const phrase = folded('phrase')
const fullName = folded('full_name')

/**
 * Whether the search finds a record. coalesce() prevents a join.
 * @param isEach whether the person of each record is looked up, 1.7 µs. Otherwise the index finds all people first.
 */
export function isFound(search: Search, isEach: boolean): SQL {
  const isOfNamed =
    isEach || search === 'search_short'
      ? sql`(select ${isNamed(search)} from ${exportPeople} where ${exportPeople.userId} = ${r.userId})`
      : sql`${r.userId} in (select ${exportPeople.userId} from ${exportPeople} where ${isNamed(search)})`
  return sql`coalesce(${r.productId} in (${productsNamed}) or ${isOfNamed}, false)`
}

/** Whether a person has such a name. Names are one on each line, and no search text has a line break: one LIKE covers both. */
export function isNamed(search: Search): SQL {
  const named = sql`(${exportPeople.namesKey} like ${phrase} or ${exportPeople.namesKey} like ${fullName})`
  // The planner uses no index for it, and expects as many people.
  return search === 'search' ? named : sql`${named} is true`
}

/** The ids of the products that have such a name. */
export const productsNamed = sql`
          select ${exportProducts.productId} from ${exportProducts} where ${exportProducts.nameKey} like ${phrase}`

/** The products of the scope that it does not find. */
export const otherProducts = sql`(
    select id from unnest(${GIVEN.products}) as product (id) where id not in (${productsNamed})) as other`

/** Whether a record is found by a person alone, and not by its product, too. */
export const isOfPerson = sql`
  ${r.userId} = ${exportPeople.userId} and coalesce(${r.productId} not in (${productsNamed}), true)`
