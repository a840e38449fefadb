import { pageAt, SORTS } from '../paths.ts'
import { besides, broadScope, hundreds, largestScope, middleScope, type Scope, sizeOf } from '../scopes.ts'
import type { Side } from '../side.ts'
import type { Figures, Measure } from '../turns.ts'

/**
 * The first page with its count, the slowest jump and the slowest next page in any sort, for three scopes: three
 * organizations of middle size, the three largest, and most organizations. The service has answered the same requests
 * for another scope, so its statements are prepared, and page memory has nothing about this scope.
 */
export const jumps: Measure = {
  name: 'jumps',
  async prepare(side) {
    const scopes = {
      '3 organizations of middle size': await middleScope(side.sql),
      'the 3 largest organizations': await largestScope(side.sql),
      'most organizations': await broadScope(side.sql),
    }
    return async () => {
      const figures: Figures = {}
      for (const [name, scope] of Object.entries(scopes))
        for (const [what, ms] of Object.entries(await slowest(side, scope)))
          figures[`${name}, ${what}, ms`] = ms
      return figures
    }
  },
}

async function slowest(side: Side, scope: Scope): Promise<Figures> {
  const questions = questionsOf((await sizeOf(side.sql, scope)).count)
  const paths = questions.map(({ path }) => path)
  const { latencies } = await side.whileServing(scope, async ({ url, load }) => {
    await load({ paths, headers: await side.authorize(url, besides(scope)), connections: 1 })
    return await load({ paths, connections: 1 })
  })
  const figures: Figures = {}
  for (const [at, { what }] of questions.entries())
    figures[what] = Math.max(figures[what] ?? 0, latencies[at] ?? Number.NaN)
  return figures
}

function questionsOf(count: number): { what: string; path: string }[] {
  const questions = [{ what: 'first page with count', path: pageAt(0) }]
  for (const sort of SORTS) {
    for (const order of ['ASC', 'DESC']) {
      // The deepest page is first, because a remembered position before a page makes the way to that page shorter.
      for (const depth of [0.9, 0.5]) {
        const offset = hundreds(count * depth)
        const sorted = `&sort=${sort}&order=${order}`
        questions.push({ what: 'slowest jump', path: pageAt(offset) + sorted })
        questions.push({ what: 'slowest next page', path: pageAt(offset + 100) + sorted })
      }
    }
  }
  return questions
}
