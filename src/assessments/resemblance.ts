import leven from 'leven'
import { LIST_PARAMETERS } from '../contract.ts'
import type { Pair } from './query-string.ts'

/** Parameters by their letters alone: `filteruserids`, and `userids` for a client that omits the filter around it. */
const LETTERS = Object.keys(LIST_PARAMETERS).flatMap(name => {
  const letters = lettersOf(name)
  return [letters, letters.replace(/^filter/, '')].map(spelling => ({ spelling, name }))
})

/** The names that have an effect, or are an error, without what may follow them: `filter[seids]` in `filter[seids][0]`. */
const KNOWN = new Set(Object.keys(LIST_PARAMETERS).map(name => name.replace('[]', '')))
const BEFORE_LIST = /^([^[]+|filter\[[^\]]*\])(?:\[\d*\])*$/

/** A query string of 16 KiB may have thousands of names. */
const MAX_COMPARED = 10

/**
 * The parameters that other names in a query string resemble, which have no effect: `filters[user_ids]`,
 * `filter[product_id]`, `start_date`. Only our own names are returned, since a name that was sent may contain anything:
 * at most MAX_COMPARED.
 */
export function resembled(pairs: Pair[]): string[] {
  const found = new Set<string>()
  const compared = new Set<string>()
  for (const { name } of pairs) {
    if (KNOWN.has(name) || compared.has(name)) continue
    if (KNOWN.has(BEFORE_LIST.exec(name)?.[1] ?? '')) continue
    if (compared.size === MAX_COMPARED) break
    compared.add(name)
    const nearest = nearestTo(lettersOf(name))
    if (nearest) found.add(nearest)
  }
  return [...found]
}

/** The parameter with the least distance: at most one letter, or two for a name of more than seven letters. */
function nearestTo(letters: string): string | undefined {
  const near = LETTERS.flatMap(({ spelling, name }) => {
    const most = spelling.length > 7 ? 2 : 1
    const away = leven(letters, spelling, { maxDistance: most + 1 })
    return away <= most ? [{ name, away }] : []
  })
  return near.sort((one, other) => one.away - other.away)[0]?.name
}

function lettersOf(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z]/g, '')
}
