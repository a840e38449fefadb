import { latenciesOf, type Measure } from '../measured-service.ts'
import { pagesFrom } from '../paths.ts'
import { median } from '../results.ts'
import { compared, inTurns } from '../rounds.ts'
import { broadScope, hundreds, sizeOf } from '../scopes.ts'

/** The number of requested pages of each kind. */
const PAGES = 10

/** A deep page that is requested again and again, compared with the next pages of a walk from there. */
export const again: Measure = {
  name: 'again',
  async run(world) {
    const scope = await broadScope(world.sql)
    const { count } = await sizeOf(world.sql, scope)
    const deep = hundreds(count * 0.6)
    /** Milliseconds of a page, on a service that has just served the page at that offset. */
    const timed = (step: number) =>
      latenciesOf(world, scope, pagesFrom(deep, PAGES, step)).then(([, ...latencies]) => median(latencies))
    const times = await inTurns(world.options.rounds, { same: () => timed(0), next: () => timed(100) })
    return [
      {
        measure: `the page at offset ${deep.toLocaleString('en-US')} read again ÷ the next page`,
        ...compared(times.same, times.next),
        unit: 'ms',
        beside: 'next',
        reach: { of: 'ratio', atMost: 1.2 },
      },
    ]
  },
}
