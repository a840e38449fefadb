import { runLoads } from '../job.ts'
import { walkPaths } from '../paths.ts'
import { broadScope, type Scope, sizeOf, variantsOf } from '../scopes.ts'
import type { Side } from '../side.ts'
import type { Figures, Measure } from '../turns.ts'
import { type Change, whileWriting } from '../writer.ts'

/** Clients that walk at a time, each with a scope of its own. */
const CLIENTS = 8

/** Full exports while others write, beside the same without writes. */
export const writes: Measure = {
  name: 'writes',
  async prepare(side) {
    const broad = await broadScope(side.sql)
    const one = [await walkerOf(side, broad)]
    const several = await Promise.all(variantsOf(broad, CLIENTS).map(scope => walkerOf(side, scope)))
    const under = (change: Change, perSecond: number, walkers: Walker[]) =>
      whileWriting(side, broad, change, perSecond, () => walkTogether(side, walkers))
    return async () => {
      const alone = await walkTogether(side, one)
      const together = await walkTogether(side, several)
      const figures: Figures = {
        'one walk, quiet, s': alone,
        'one walk, 10 changes of e-mail addresses a second ÷ quiet': (await under('email', 10, one)) / alone,
        'one walk, a list change a second ÷ quiet': (await under('list', 1, one)) / alone,
        [`${CLIENTS} walks, quiet, s`]: together,
      }
      figures[`${CLIENTS} walks, a list change in ten seconds ÷ quiet`] =
        (await under('list', 0.1, several)) / together
      return figures
    }
  },
}

/** A client with an integration of its own, which requests paths one after the other. */
interface Walker {
  scope: Scope
  paths: string[]
}

const walkerOf = async ({ sql }: Side, scope: Scope): Promise<Walker> => ({
  scope,
  paths: walkPaths((await sizeOf(sql, scope)).count),
})

/** Seconds of the slowest client. */
async function walkTogether(side: Side, walkers: Walker[]): Promise<number> {
  return await side.whileServing((walkers[0] as Walker).scope, async ({ url }) => {
    const jobs = []
    for (const { scope, paths } of walkers)
      jobs.push({ url, paths, connections: 1, headers: await side.authorize(url, scope) })
    return Math.max(...(await runLoads(jobs)).map(({ seconds }) => seconds))
  })
}
