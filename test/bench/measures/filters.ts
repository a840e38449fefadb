import { needlesOf, WARM } from '../needles.ts'
import { compared } from '../rounds.ts'
import { broadScope } from '../scopes.ts'
import { FIRST_PAGE } from '../service.ts'
import { latenciesOf, type Measure } from '../stage.ts'

/**
 * First pages of filters that pick few, with their counts. Every round has a service of its own, so that no
 * count is remembered; it has been asked the same kind of question about others before, as a service in use.
 */
export const filters: Measure = {
  name: 'filters',
  async run(world) {
    const scope = await broadScope(world.sql)
    const needles = await needlesOf(world.sql, scope, world.options.rounds)
    const times = needles.map((): number[] => [])
    for (let round = 0; round < world.options.rounds; round++) {
      const asked = needles.flatMap(({ warm, queries }) => [...warm, queries[round] as string])
      const paths = [FIRST_PAGE, ...asked.map(query => `${FIRST_PAGE}&${query}`)]
      const latencies = await latenciesOf(world, scope, paths)
      for (const [at, found] of times.entries()) {
        found.push(latencies[(at + 1) * (WARM + 1)] ?? Number.NaN)
      }
    }
    return needles.map(({ name }, at) => {
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
