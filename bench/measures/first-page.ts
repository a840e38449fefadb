import { type Measure, type MeasuredService, withBoth } from '../measured-service.ts'
import { BESIDE_PGBENCH, rateOf } from '../pgbench.ts'
import { besideBefore, compared, inTurns } from '../rounds.ts'
import { broadScope, inScope } from '../scopes.ts'
import { FIRST_PAGE, NO_PROC } from '../service.ts'

/**
 * First pages a second, compared with pgbench, which reads the same documents as rows with a constant scope, a kept
 * plan and no token; the service's processor time for a page; and both figures of the earlier executable.
 */
export const firstPage: Measure = {
  name: 'first-page',
  async run(world) {
    const { rounds, seconds } = world.options
    const scope = await broadScope(world.sql)
    const rows = {
      text: `select document from export_records where ${inScope(scope)} order by certified_on, id limit 100`,
    }
    return await withBoth(world, scope, async (present, before) => {
      const ours = contestant(present, seconds)
      const theirs = before && contestant(before, seconds)
      for (const measured of [present, before]) await measured?.warmUp({ paths: [FIRST_PAGE] })
      const rates = await inTurns(rounds, {
        present: ours.rate,
        before: theirs?.rate,
        pgbench: rateOf(world, rows),
      })
      const cost = 'processor time of the service for a page'
      return [
        {
          measure: 'first pages ÷ pgbench, the same documents as rows',
          ...compared(rates.present, rates.pgbench),
          ...BESIDE_PGBENCH,
          unit: '/s',
          reach: { of: 'ratio', atLeast: 0.33 },
        },
        besideBefore('first pages', '/s', rates.present, rates.before),
        {
          measure: cost,
          unit: 'µs',
          reach: { of: 'value', atMost: 240 },
          ...(ours.costs.length > 0
            ? { ...compared(ours.costs), note: `the load took ${ours.loadCores().toFixed(2)} cores` }
            : { note: NO_PROC }),
        },
        // 240 µs of the 450 µs that the earlier executable took where both marks were set.
        besideBefore(cost, 'µs', ours.costs, theirs?.costs, { of: 'ratio', atMost: 0.53 }),
      ]
    })
  },
}

/** Measures first pages a second, and notes the service's microseconds for a page in each round. */
function contestant({ service, load }: MeasuredService, seconds: number) {
  const costs: number[] = []
  let cores = 0
  const rate = async () => {
    const before = service.cpu()
    const outcome = await load({ paths: [FIRST_PAGE], seconds })
    const after = service.cpu()
    if (before !== undefined && after !== undefined) costs.push((after - before) / outcome.requests)
    cores = outcome.cpu / outcome.seconds
    return outcome.requests / outcome.seconds
  }
  return { rate, costs, loadCores: () => cores }
}
