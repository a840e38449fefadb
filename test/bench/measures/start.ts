import { FIRST_PAGE } from '../paths.ts'
import { broadScope } from '../scopes.ts'
import type { Figures, Measure } from '../turns.ts'

/** A process from its start to its first page, and the memory that it has had after pages for some seconds. */
export const start: Measure = {
  name: 'start',
  async prepare(side) {
    const scope = await broadScope(side.sql)
    await side.provision(scope)
    return () =>
      side.whileServing(scope, async ({ startMs, load, peakMemory }) => {
        const { latencies } = await load({ paths: [FIRST_PAGE], connections: 1 })
        const figures: Figures = {
          'from the start to an answer, ms': startMs,
          'first page after the start, ms': latencies[0] ?? Number.NaN,
        }
        await load({ paths: [FIRST_PAGE], seconds: side.options.seconds })
        const peak = peakMemory()
        if (peak !== undefined) figures['peak memory of the process, MB'] = peak
        return figures
      })
  },
}
