import { latenciesOf, type Measure } from '../measured-service.ts'
import { rareFiltersOf, WARM } from '../rare-filters.ts'
import { compared } from '../rounds.ts'
import { broadScope } from '../scopes.ts'
import { FIRST_PAGE } from '../service.ts'

/**
 * First pages with their counts, for filters with few matches. Every round has a new service, so that page memory has
 * no count. The service has answered requests of the same kind with other values before, as a service in use.
 */
export const filters: Measure = {
  name: 'filters',
  async run(world) {
    const scope = await broadScope(world.sql)
    const rareFilters = await rareFiltersOf(world.sql, scope, world.options.rounds)
    const times = rareFilters.map((): number[] => [])
    for (let round = 0; round < world.options.rounds; round++) {
      const requests = rareFilters.flatMap(({ warm, queries }) => [...warm, queries[round] as string])
      const paths = [FIRST_PAGE, ...requests.map(query => `${FIRST_PAGE}&${query}`)]
      const latencies = await latenciesOf(world, scope, paths)
      for (const [at, found] of times.entries()) {
        found.push(latencies[(at + 1) * (WARM + 1)] ?? Number.NaN)
      }
    }
    return rareFilters.map(({ name }, at) => {
      const found = times[at] ?? []
      return {
        measure: `first page with count: ${name}`,
        ...compared(found),
        unit: 'ms',
        reach: { of: 'value', atMost: 25 },
        note: `slowest ${Math.max(...found).toFixed(1)} ms`,
      }
    })
  },
}
