import { LIST_PARAMETERS } from './parameters.ts'

/** Parameters by their letters alone: `filteruserids`, and `userids` for whoever forgets the filter around it. */
const LETTERS = new Map(
  Object.keys(LIST_PARAMETERS).flatMap(name => {
    const letters = lettersOf(name)
    return [letters, letters.replace(/^filter/, '')].map((spelling): [string, string] => [spelling, name])
  }),
)

/** The spellings that have an effect, or are an error: those of parse.ts. */
const OURS = new Set(Object.keys(LIST_PARAMETERS).map(name => name.replace('[]', '')))

/** Names that are compared at most: a query string of 16 KiB may hold thousands. */
const MOST_NAMES = 10

/**
 * Those of our parameters that others in a query string look like, which have no effect: `filters[user_ids]`,
 * `filter[product_id]`, `start_date`. Ours alone, since anything may stand in a name that was sent.
 */
export function resembled(queryString: string): string[] {
  const found = new Set<string>()
  let compared = 0
  for (const name of new Set(queryString.split('&').map(pair => pair.split('=', 1)[0] ?? ''))) {
    if (OURS.has(name)) continue
    const [decoded = ''] = new URLSearchParams(`${name}=`).keys()
    const [, known = ''] = /^([^[]+|filter\[[^\]]*\])(?:\[\d*\])*$/.exec(decoded) ?? []
    if (OURS.has(known)) continue
    if (compared++ === MOST_NAMES) break
    const like = nearest(lettersOf(decoded))
    if (like) found.add(like)
  }
  return [...found]
}

/** The parameter that is the fewest letters away: one at most, of longer ones two. */
function nearest(letters: string): string | undefined {
  let least = Number.POSITIVE_INFINITY
  let name: string | undefined
  for (const [spelling, ours] of LETTERS) {
    const most = spelling.length > 7 ? 2 : 1
    if (Math.abs(letters.length - spelling.length) > most) continue
    const away = distance(letters, spelling)
    if (away < least && away <= most) [least, name] = [away, ours]
  }
  return name
}

/** Letters to be added, left out or replaced to make one text of the other (Levenshtein's distance). */
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
