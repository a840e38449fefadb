import { pageAt } from '../paths.ts'
import { broadScope, hundreds, sizeOf, variantsOf } from '../scopes.ts'
import type { Figures, Measure } from '../turns.ts'

/** How far into a list, in percent. */
const DEPTHS = [30, 45, 90]

/** Jumps from the first page into a list that nobody has walked. Each is of another scope, so that none helps the next. */
export const jumps: Measure = {
  name: 'jumps',
  async prepare(side) {
    const [warm, ...scopes] = variantsOf(await broadScope(side.sql), 1 + DEPTHS.length)
    const jumps: { percent: number; scope: (typeof scopes)[number]; paths: string[] }[] = []
    for (const [at, percent] of DEPTHS.entries()) {
      const scope = scopes[at] as (typeof scopes)[number]
      const { count } = await sizeOf(side.sql, scope)
      jumps.push({ percent, scope, paths: [pageAt(0), pageAt(hundreds((count * percent) / 100))] })
    }
    return () =>
      side.whileServing(warm as (typeof scopes)[number], async ({ url, load }) => {
        await load({ paths: jumps.flatMap(({ paths }) => paths), connections: 1 })
        const figures: Figures = {}
        for (const { percent, scope, paths } of jumps) {
          const headers = await side.authorize(url, scope)
          const [, jump = Number.NaN] = (await load({ paths, headers, connections: 1 })).latencies
          figures[`jump to ${percent} %, ms`] = jump
        }
        return figures
      })
  },
}
