import { type Measure, withService } from '../measured-service.ts'
import { walkPaths } from '../paths.ts'
import type { Result } from '../results.ts'
import { compared, inTurns } from '../rounds.ts'
import { broadScope, sizeOf } from '../scopes.ts'

/** The largest number of pages of the walk, which is repeated. */
const MOST_PAGES = 2000

/** A walk by all connections, with each content coding and without one. */
export const compressedWalk: Measure = {
  name: 'compressed',
  async run(world) {
    const scope = await broadScope(world.sql)
    const { count } = await sizeOf(world.sql, scope)
    const paths = walkPaths(count).slice(0, MOST_PAGES)
    return await withService(world, scope, async ({ headers, rate }) => {
      const walk = (coding: string) => () =>
        rate({ paths, headers: { ...headers, 'accept-encoding': coding } })
      // A walk that is not measured: it fills the page memory for all three.
      await walk('identity')()
      const rates = { plain: walk('identity'), gzip: walk('gzip'), zstd: walk('zstd') }
      const { plain, gzip, zstd } = await inTurns(world.options.rounds, rates)
      const result = (coding: string, figures: number[]): Result => ({
        measure: `compressed walk (${coding}) ÷ plain`,
        ...compared(figures, plain),
        unit: '/s',
        beside: 'plain',
      })
      return [{ ...result('gzip', gzip), reach: { of: 'ratio', atLeast: 0.4 } }, result('zstd', zstd)]
    })
  },
}
