import { type SQL, sql } from 'drizzle-orm'
import { exportPeople, exportProducts, exportRecords as r } from '../../db/schema.ts'

/**
 * The search (spec 4.2) finds people and products by their names, and records by these people and products. A trigram
 * index finds the people. A text without three letters in a row has no trigram: the names of all people are scanned,
 * because the whole index would be read.
 */

export const SEARCHES = ['search', 'search_two_words', 'search_short', 'search_two_short'] as const
type Search = (typeof SEARCHES)[number]

/** The search among the names of filters. It may leave few records or most. */
export function searchOf(filters: string[]): Search | undefined {
  return SEARCHES.find(name => filters.includes(name))
}

/**
 * Whether the search finds a record, for a walk along a sort key. People and products are looked up once, and not for
 * each record; coalesce() keeps the planner from joining them.
 */
export function isFound(search: Search): SQL {
  return sql`coalesce(
        ${r.userId} in (select ${exportPeople.userId} from ${exportPeople} where ${isNamed[search]})
        or ${r.productId} in (${productsNamed}), false)`
}

/** Whether the search found a record in the log of changes: by the names as they were then, one on each line. */
export function wasFound(search: Search): SQL {
  const isNamedSo = (pattern: SQL) => sql`search_text like ${pattern}`
  return search === 'search' || search === 'search_short' ? isNamedSo(phrase) : either(isNamedSo)
}

/**
 * All records that the search finds, as a source of rows with the name of the table. If no product has such a name, they
 * are the records of some people, found by an index if the people are few. If a product has, they are many, and one
 * scan finds them: with a join, whose hash table of people the processes of a parallel scan share.
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
/** The function of the operator LIKE: the planner uses no index for it. */
const scanned = (pattern: SQL) => sql`textlike(${exportPeople.namesKey}, ${pattern})`

/** By search. A person's names are one on each line, and no search text has a line break: one LIKE covers both. */
const isNamed: Record<Search, SQL> = {
  search: indexed(phrase),
  search_two_words: either(indexed),
  search_short: scanned(phrase),
  search_two_short: either(scanned),
}

/** A pattern, folded as names are. The function is immutable, so the planner sees a constant. */
function folded(name: string): SQL {
  return sql`search_folded(${sql.placeholder(name)}::text)`
}

/** The patterns for a text that is not blank; two words are a first and a last name, too. */
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
