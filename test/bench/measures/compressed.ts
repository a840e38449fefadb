import { walkPaths } from '../paths.ts'
import type { Result } from '../results.ts'
import { compared, inTurns } from '../rounds.ts'
import { broadScope, sizeOf } from '../scopes.ts'
import { type Measure, onStage } from '../stage.ts'

/** Pages that are walked over and over. */
const MOST_PAGES = 2000

/** A walk by all connections in each coding, and without any. */
export const compressedWalk: Measure = {
  name: 'compressed',
  async run(world) {
    const scope = await broadScope(world.sql)
    const { count } = await sizeOf(world.sql, scope)
    const paths = walkPaths(count).slice(0, MOST_PAGES)
    return await onStage(world, scope, async ({ headers, rate }) => {
      const walk = (coding: string) => () =>
        rate({ paths, headers: { ...headers, 'accept-encoding': coding } })
      // Not measured: where pages end is remembered from then on, for all three.
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
