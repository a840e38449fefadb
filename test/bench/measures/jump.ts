import type { Reach, Result } from '../results.ts'
import { compared, inTurns } from '../rounds.ts'
import { broadScope, hundreds, sizeOf } from '../scopes.ts'
import { FIRST_PAGE } from '../service.ts'
import { latenciesOf, type Measure } from '../stage.ts'

/**
 * The first jump to a depth where nobody has been, each time on a service of its own: one that has seen the
 * first page only, and so knows the count, and one that has seen nothing.
 */
export const jump: Measure = {
  name: 'jump',
  async run(world) {
    const scope = await broadScope(world.sql)
    const { count } = await sizeOf(world.sql, scope)
    // 600,000 of a million, of which some 700,000 match; as deep where the share is another one.
    const wanted = world.records * 0.6
    const deep = hundreds(wanted < count ? wanted : count * 0.85)
    const middle = hundreds(count / 2)
    const timed = (...paths: string[]) =>
      latenciesOf(world, scope, paths).then(latencies => latencies.at(-1) ?? Number.NaN)
    const at = (offset: number) => `${FIRST_PAGE}&offset=${offset}`
    const times = await inTurns(world.options.rounds, {
      afterFirstPage: () => timed(FIRST_PAGE, at(deep)),
      unknown: () => timed(at(deep)),
      middle: () => timed(at(middle)),
    })
    const result = (offset: number, when: string, figures: number[], reach?: Reach): Result => ({
      measure: `first jump to offset ${offset.toLocaleString('en-US')}, ${when}`,
      ...compared(figures),
      unit: 'ms',
      ...(reach && { reach }),
    })
    const reach = { of: 'value', atMost: 200 } as const
    return [
      result(deep, 'after a first page', times.afterFirstPage, reach),
      result(deep, 'nothing known', times.unknown, reach),
      // The farthest there is: as far from the start as from the end.
      result(middle, 'nothing known', times.middle),
    ]
  },
}
