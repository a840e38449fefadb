import { median } from '../results.ts'
import { compared, inTurns } from '../rounds.ts'
import { broadScope, hundreds, sizeOf } from '../scopes.ts'
import { FIRST_PAGE } from '../service.ts'
import { type Measure, onStage } from '../stage.ts'

/** How many pages of a kind are asked for. */
const PAGES = 10

/** A deep page that is asked for over and over, against the next pages of a walk from there. */
export const again: Measure = {
  name: 'again',
  async run(world) {
    const scope = await broadScope(world.sql)
    const { count } = await sizeOf(world.sql, scope)
    const deep = hundreds(count * 0.6)
    /** Milliseconds of a page, on a service that has just found its way there. */
    const timed = (step: number) =>
      onStage(world, scope, async ({ load }) => {
        const offsets = Array.from({ length: PAGES }, (_, at) => deep + at * step)
        const paths = offsets.map(offset => `${FIRST_PAGE}&offset=${offset}`)
        const { latencies } = await load({ paths, connections: 1 })
        return median(latencies.slice(1))
      })
    const times = await inTurns(world.options.rounds, { same: () => timed(0), next: () => timed(100) })
    return [
      {
        measure: `the page at offset ${deep.toLocaleString('en-US')} again ÷ the next page`,
        ...compared(times.same, times.next),
        unit: 'ms',
        beside: 'next',
        reach: { of: 'ratio', atMost: 1.2 },
      },
    ]
  },
}
