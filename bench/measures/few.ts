import { type Measure, withService } from '../measured-service.ts'
import { pageAt, SORTS } from '../paths.ts'
import { median, type Result } from '../results.ts'
import { broadScope, bySize, hundreds, middleScope, sizeOf } from '../scopes.ts'
import { authorize } from '../service.ts'
import type { Scope, World } from '../world.ts'

/**
 * The first page with its count, the slowest jump and the slowest next page in any sort, for three scopes: three
 * organizations of middle size, the three largest, and most organizations. The service has answered the same requests
 * for another scope, so its statements are prepared, and page memory has nothing about this scope.
 */
export const few: Measure = {
  name: 'few',
  async run(world) {
    const ids = await bySize(world.sql)
    const middle = await middleScope(world.sql)
    const largest = { ...middle, organizations: ids.slice(0, 3) }
    const broad = await broadScope(world.sql)
    return [
      ...(await slowest(world, middle, `${middle.organizations.length} of ${ids.length} organizations`, {
        count: 4,
        jump: 4,
      })),
      ...(await slowest(world, largest, 'the 3 largest organizations', { count: 15, jump: 30 })),
      ...(await slowest(world, broad, `${broad.organizations.length} organizations`, { jump: 200 })),
    ]
  },
}

interface Question {
  kind: 'count' | 'jump' | 'next'
  what: string
  path: string
}

async function slowest(
  world: World,
  scope: Scope,
  name: string,
  reach: { count?: number; jump: number },
): Promise<Result[]> {
  const { count } = await sizeOf(world.sql, scope)
  const questions = questionsOf(count)
  const paths = questions.map(({ path }) => path)
  const other = await world.provision(world, { ...scope, products: scope.products.slice(1) })
  const rounds: number[][] = []
  for (let round = 0; round < world.options.rounds; round++) {
    const { latencies } = await withService(world, scope, async ({ service, load }) => {
      await load({ paths, headers: await authorize(service.url, other), connections: 1 })
      return await load({ paths, connections: 1 })
    })
    rounds.push(latencies)
  }
  const result = (kind: Question['kind'], measure: string, atMost: number | undefined): Result => {
    const timed = questions.map((question, at) => ({
      ...question,
      ms: median(rounds.map(round => round[at] ?? 0)),
    }))
    const { what, ms } = timed.filter(one => one.kind === kind).reduce((a, b) => (a.ms >= b.ms ? a : b))
    return {
      measure: `${name}, ${measure}`,
      figure: ms,
      unit: 'ms',
      ...(atMost !== undefined && { reach: { of: 'value', atMost } }),
      note: what,
    }
  }
  return [
    result('count', 'first page with count', reach.count),
    result('next', 'slowest next page of a walk', 4),
    result('jump', 'slowest jump', reach.jump),
  ]
}

function questionsOf(count: number): Question[] {
  const counted = `counts ${count.toLocaleString('en-US')}`
  const questions: Question[] = [{ kind: 'count', what: counted, path: pageAt(0) }]
  for (const sort of SORTS) {
    for (const order of ['ASC', 'DESC']) {
      // The deepest page is first, because a remembered position before a page makes the way to that page shorter.
      for (const depth of [0.9, 0.5]) {
        const offset = hundreds(count * depth)
        const what = `${sort} ${order} at ${offset} of ${count}`
        const sorted = `&sort=${sort}&order=${order}`
        questions.push({ kind: 'jump', what, path: pageAt(offset) + sorted })
        questions.push({ kind: 'next', what, path: pageAt(offset + 100) + sorted })
      }
    }
  }
  return questions
}
