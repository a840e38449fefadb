import { type Measure, withService } from '../measured-service.ts'
import { compareWithPgbench } from '../programs.ts'
import { compared } from '../rounds.ts'
import { broadScope, inScope } from '../scopes.ts'
import { FIRST_PAGE, NO_PROC } from '../service.ts'

/**
 * First pages a second, compared with pgbench, which reads the same documents as rows with a constant scope, a kept
 * plan and no token; and the service's processor time for a page.
 */
export const firstPage: Measure = {
  name: 'first-page',
  async run(world) {
    const { seconds } = world.options
    const scope = await broadScope(world.sql)
    const rows = {
      text: `select document from export_records where ${inScope(scope)} order by certified_on, id limit 100`,
      aim: 0.45,
    }
    return await withService(world, scope, async ({ service, load, warmUp }) => {
      await warmUp({ paths: [FIRST_PAGE] })
      const costs: number[] = []
      let cores = 0
      const figure = async () => {
        const before = service.cpu()
        const outcome = await load({ paths: [FIRST_PAGE], seconds })
        const after = service.cpu()
        if (before !== undefined && after !== undefined) costs.push((after - before) / outcome.requests)
        cores = outcome.cpu / outcome.seconds
        return outcome.requests / outcome.seconds
      }
      return [
        {
          measure: 'first pages ÷ pgbench, the same documents as rows',
          ...(await compareWithPgbench(world, rows, figure)),
          reach: { of: 'ratio', atLeast: 0.33 },
        },
        {
          measure: 'processor time of the service for a page',
          unit: 'µs',
          reach: { of: 'value', atMost: 220 },
          ...(costs.length > 0 && compared(costs)),
          note: costs.length > 0 ? `aim: 160; the load took ${cores.toFixed(2)} cores` : NO_PROC,
        },
      ]
    })
  },
}
