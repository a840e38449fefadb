import { type SQL, sql } from 'drizzle-orm'
import { exportPeople, exportProducts, exportRecords as r } from '../../db/schema.ts'

/**
 * The search (spec 4.2): people and products are looked for by their names, and records by these.
 *
 * Which people there are to find is read from an index of the three letters in a row that a needle has. Those of a
 * short needle, which has none, are found in the names of all: the index would be read whole, and these after it.
 */

export const SEARCHES = ['search', 'search_two_words', 'search_short', 'search_two_short'] as const
type Search = (typeof SEARCHES)[number]

/** The search among the names of filters. Of all records it may leave few or most. */
export function searchOf(filters: string[]): Search | undefined {
  return SEARCHES.find(name => filters.includes(name))
}

/**
 * Whether a record is found, for a walk along a sort key that passes over what is not. People and products are
 * looked up once, and not for each record; coalesce() keeps the planner from joining them.
 */
export function isFound(search: Search): SQL {
  return sql`coalesce(
        ${r.userId} in (select ${exportPeople.userId} from ${exportPeople} where ${isNamed[search]})
        or ${r.productId} in (${productsNamed}), false)`
}

/** Whether a record that is logged was found: by its names as they were then, a line each, the product's last. */
export function wasFound(search: Search): SQL {
  const isNamedSo = (pattern: SQL) => sql`search_text like ${pattern}`
  return search === 'search' || search === 'search_short' ? isNamedSo(phrase) : either(isNamedSo)
}

/**
 * All records that are found, as a source of rows that has the name of the table. Where no product has such a name
 * they are those of some people, by their index when these are few. Where a product has, they are many, and one
 * pass over all records finds them: by a join, because the processes of a parallel scan share its table of people.
 */
export function recordsFound(search: Search): SQL {
  return sql`(
      select ${r}.* from ${exportPeople} join ${r} on ${r.userId} = ${exportPeople.userId}
      where not exists (${productsNamed}) and ${isNamed[search]}
      union all
      select ${r}.* from ${r}
      left join ${exportPeople} on ${r.userId} = ${exportPeople.userId} and ${isNamed[search]}
      where exists (${productsNamed}) and (${exportPeople.userId} is not null or ${r.productId} in (${productsNamed}))
    ) as ${r}`
}

const phrase = folded('phrase')
const productsNamed = sql`
          select ${exportProducts.productId} from ${exportProducts} where ${exportProducts.nameKey} like ${phrase}`

const either = (isNamedSo: (pattern: SQL) => SQL) =>
  sql`(${isNamedSo(phrase)} or ${isNamedSo(folded('full_name'))})`

const indexed = (pattern: SQL) => sql`${exportPeople.namesKey} like ${pattern}`
/** The function behind LIKE, for which no index is used. */
const scanned = (pattern: SQL) => sql`textlike(${exportPeople.namesKey}, ${pattern})`

/** Names are a line each, and no needle has a line break: one LIKE looks into both of a person's. */
const isNamed: Record<Search, SQL> = {
  search: indexed(phrase),
  search_two_words: either(indexed),
  search_short: scanned(phrase),
  search_two_short: either(scanned),
}

/** Folded as names are; the function is immutable, so the planner sees a constant. */
function folded(name: string): SQL {
  return sql`search_folded(${sql.placeholder(name)}::text)`
}

/** The patterns of the search for a value that is not blank; of two words they are a first and a last name too. */
export function searchConstraint(value: string): Partial<Record<Search, Record<string, string>>> {
  const literal = (text: string) => text.replaceAll(/[\\%_]/g, '\\$&')
  const text = value.trim()
  const phrase = `%${literal(text)}%`
  const words = text.split(/\s+/).map(literal)
  const isShort = !/[a-z0-9]{3}/i.test(text)
  if (words.length !== 2) return { [isShort ? 'search_short' : 'search']: { phrase } }
  const full_name = `%${words[0]}%\n%${words[1]}%\n%`
  return { [isShort ? 'search_two_short' : 'search_two_words']: { phrase, full_name } }
}
