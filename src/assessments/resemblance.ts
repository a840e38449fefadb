import { LIST_PARAMETERS } from '../contract.ts'

/** Parameters by their letters alone: `filteruserids`, and `userids` for a client that omits the filter around it. */
const LETTERS = Object.keys(LIST_PARAMETERS).flatMap(name => {
  const letters = lettersOf(name)
  return [letters, letters.replace(/^filter/, '')].map(spelling => ({ spelling, name }))
})

/** The spellings that have an effect, or are an error: those of parse.ts. */
const KNOWN = new Set(Object.keys(LIST_PARAMETERS).map(name => name.replace('[]', '')))

/** A query string of 16 KiB may have thousands of names. */
const MAX_COMPARED = 10

/**
 * The parameters that other names in a query string resemble, which have no effect: `filters[user_ids]`,
 * `filter[product_id]`, `start_date`. Only our own names are returned, since a name that was sent may contain anything.
 */
export function resembled(queryString: string): string[] {
  const found = new Set<string>()
  let compared = 0
  for (const name of new Set(queryString.split('&').map(pair => pair.split('=', 1)[0] ?? ''))) {
    if (KNOWN.has(name)) continue
    const [decoded = ''] = new URLSearchParams(`${name}=`).keys()
    const [, known = ''] = /^([^[]+|filter\[[^\]]*\])(?:\[\d*\])*$/.exec(decoded) ?? []
    if (KNOWN.has(known)) continue
    if (compared++ === MAX_COMPARED) break
    const nearest = nearestTo(lettersOf(decoded))
    if (nearest) found.add(nearest)
  }
  return [...found]
}

/** The parameter with the least distance: at most one letter, or two for a name of more than seven letters. */
function nearestTo(letters: string): string | undefined {
  const near = LETTERS.flatMap(({ spelling, name }) => {
    const most = spelling.length > 7 ? 2 : 1
    if (Math.abs(letters.length - spelling.length) > most) return []
    const away = distance(letters, spelling)
    return away <= most ? [{ name, away }] : []
  })
  return near.sort((one, other) => one.away - other.away)[0]?.name
}

/** The Levenshtein distance. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (let at = 0; at < one.length; at++) {
    const next = [at + 1]
    for (let column = 0; column < other.length; column++) {
      const replaced = (row[column] ?? 0) + (one[at] === other[column] ? 0 : 1)
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}

function lettersOf(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z]/g, '')
}
