import { runLoads } from '../job.ts'
import { pagesFrom } from '../paths.ts'
import { broadScope, hundreds, type Scope, sizeOf, variantsOf } from '../scopes.ts'
import type { Side } from '../side.ts'
import type { Figures, Measure } from '../turns.ts'
import { whileWriting } from '../writer.ts'

const PAGES = 1500

const CLIENTS = 8

/** Walks from the middle of the data while records are changed: by one client, and by several of different scopes. */
export const writes: Measure = {
  name: 'writes',
  async prepare(side) {
    const broad = await broadScope(side.sql)
    const groups = {
      'one client': [await fromMiddle(side, broad)],
      [`${CLIENTS} clients of ${CLIENTS} scopes`]: await Promise.all(
        variantsOf(broad, CLIENTS).map(scope => fromMiddle(side, scope)),
      ),
    }
    return async () => {
      const figures: Figures = {}
      for (const [name, walkers] of Object.entries(groups)) {
        for (const perSecond of [0, 10, 100]) {
          const pages = ((walkers[0]?.paths.length ?? 0) - 1).toLocaleString('en-US')
          const what = `${pages} pages, ${name}, ${perSecond} writes a second, s`
          figures[what] = await whileWriting(side, broad, perSecond, () => walkTogether(side, walkers))
        }
      }
      return figures
    }
  },
}

/** A client with an integration of its own, which requests paths one after the other. */
interface Walker {
  scope: Scope
  paths: string[]
}

/** A page in the middle, and the pages after it. */
async function fromMiddle({ sql }: Side, scope: Scope): Promise<Walker> {
  const { count } = await sizeOf(sql, scope)
  const start = hundreds(count / 2)
  const pages = Math.min(PAGES, Math.floor((count - start) / 100))
  return { scope, paths: pagesFrom(start, pages + 1) }
}

/** Seconds of the slowest client for its pages after the first, which finds the middle. */
async function walkTogether(side: Side, walkers: Walker[]): Promise<number> {
  return await side.whileServing((walkers[0] as Walker).scope, async ({ url }) => {
    const jobs = []
    for (const { scope, paths } of walkers)
      jobs.push({ url, paths, connections: 1, headers: await side.authorize(url, scope) })
    const outcomes = await runLoads(jobs)
    const times = outcomes.map(({ latencies: [, ...others] }) => others.reduce((sum, ms) => sum + ms, 0))
    return Math.max(...times) / 1000
  })
}
