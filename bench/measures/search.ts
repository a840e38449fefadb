import { latenciesOf, type Measure } from '../measured-service.ts'
import { filtered } from '../paths.ts'
import { WARM } from '../rare-filters.ts'
import { median, type Result } from '../results.ts'
import { compared } from '../rounds.ts'
import { broadScope } from '../scopes.ts'
import { type SearchText, searchTextsIn } from '../search-texts.ts'

/** The offsets of the pages after the first. */
const NEXT = [100, 200, 300]

/**
 * Searches from the rarest text to the shortest: the first page with its count, on a service that has answered searches
 * for other texts, and the next pages of a walk.
 */
export const search: Measure = {
  name: 'search',
  async run(world) {
    const scope = await broadScope(world.sql)
    const results: Result[] = []
    for (const searchText of await searchTextsIn(world.sql, scope)) {
      const first: number[] = []
      const next: number[] = []
      for (let round = 0; round < world.options.rounds; round++) {
        const paths = [
          ...searchText.others.slice(0, WARM).map(pathOf),
          pathOf(searchText.text),
          ...NEXT.map(offset => `${pathOf(searchText.text)}&offset=${offset}`),
        ]
        const latencies = await latenciesOf(world, scope, paths)
        const [found = Number.NaN, ...walked] = latencies.slice(-1 - NEXT.length)
        first.push(found)
        next.push(median(walked))
      }
      results.push(...resultsOf(searchText, first, next))
    }
    return results
  },
}

const pathOf = (text: string) => filtered('filter[search]', text)

/** The results of a search. They never contain the text: with --database, the text may be a person's name. */
function resultsOf({ name, matches, reach }: SearchText, first: number[], next: number[]): Result[] {
  const result = (what: string, times: number[], atMost: number, note: string): Result => ({
    measure: `search, ${name}: ${what}`,
    ...compared(times),
    unit: 'ms',
    reach: { of: 'value', atMost },
    note,
  })
  return [
    result('first page with count', first, reach.first, `${matches.toLocaleString('en-US')} match`),
    result('the next page', next, reach.next, ''),
  ]
}
