import { WARM } from '../needles.ts'
import { filtered } from '../paths.ts'
import { median, type Result } from '../results.ts'
import { compared } from '../rounds.ts'
import { broadScope } from '../scopes.ts'
import { type Sought, soughtIn } from '../sought.ts'
import { latenciesOf, type Measure } from '../stage.ts'

/** Pages of a walk behind the first. */
const NEXT = [100, 200, 300]

/**
 * Searches from the rarest text to the shortest: the first page with its count, on a service that was asked for other
 * texts before, and the next pages of a walk.
 */
export const search: Measure = {
  name: 'search',
  async run(world) {
    const scope = await broadScope(world.sql)
    const results: Result[] = []
    for (const sought of await soughtIn(world.sql, scope)) {
      const first: number[] = []
      const next: number[] = []
      for (let round = 0; round < world.options.rounds; round++) {
        const paths = [
          ...sought.others.slice(0, WARM).map(pathOf),
          pathOf(sought.text),
          ...NEXT.map(offset => `${pathOf(sought.text)}&offset=${offset}`),
        ]
        const latencies = await latenciesOf(world, scope, paths)
        const [found = Number.NaN, ...walked] = latencies.slice(-1 - NEXT.length)
        first.push(found)
        next.push(median(walked))
      }
      results.push(...resultsOf(sought, first, next))
    }
    return results
  },
}

const pathOf = (text: string) => filtered('filter[search]', text)

/** The note never holds the text itself: at --database it may be somebody's name. */
function resultsOf({ name, matches, reach }: Sought, first: number[], next: number[]): Result[] {
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
