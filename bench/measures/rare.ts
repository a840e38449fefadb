import { type Measure, withService } from '../measured-service.ts'
import { SORTS, walkPaths } from '../paths.ts'
import { median, type Result } from '../results.ts'
import { broadScope, sizeOf } from '../scopes.ts'
import { authorize } from '../service.ts'
import type { Scope, World } from '../world.ts'

/** The number of pages of a walk in another scope, before the measured walk, for the preparation of statements. */
const WARM = 20

/** A whole walk in one sort and order: its name, and its paths. */
interface Walk {
  name: string
  paths: string[]
}

/**
 * The rarest product of most organizations: the slowest first page with its count, and the slowest next page of whole
 * walks, in any sort and order. Each walk has a new service, which has answered the same requests for another scope.
 */
export const rareProduct: Measure = {
  name: 'rare',
  async run(world) {
    const broad = await broadScope(world.sql)
    const [rarest, another] = await world.sql<{ id: string }[]>`
      select product_id as id from export_records
      where organization_id = any (${broad.organizations}::bigint[])
      group by 1 order by count(*), 1 limit 2`
    const scopeOf = (product: { id: string } | undefined) => ({ ...broad, products: [product?.id ?? '0'] })
    const scope = scopeOf(rarest)
    const { count } = await sizeOf(world.sql, scope)
    const walks = SORTS.flatMap(sort =>
      ['ASC', 'DESC'].map(order => ({
        name: `${sort} ${order}`,
        paths: walkPaths(count, `&sort=${sort}&order=${order}`),
      })),
    )
    const rounds: number[][][] = []
    for (let round = 0; round < world.options.rounds; round++) {
      const latencies: number[][] = []
      for (const walk of walks) latencies.push(await timedWalk(world, scope, scopeOf(another), walk))
      rounds.push(latencies)
    }
    const timed = walks.flatMap(({ name, paths }, walk) =>
      paths.map((_, page) => ({
        name,
        page,
        ms: median(rounds.map(latencies => latencies[walk]?.[page] ?? Number.NaN)),
      })),
    )
    const result = (measure: string, isMeant: (page: number) => boolean, atMost: number): Result => {
      const [slowest] = timed.filter(({ page }) => isMeant(page)).sort((a, b) => b.ms - a.ms)
      return {
        measure: `a rare product, ${measure}`,
        unit: 'ms',
        reach: { of: 'value', atMost },
        ...(slowest
          ? { figure: slowest.ms, note: `${slowest.name} at ${slowest.page * 100} of ${count}` }
          : { note: 'not measured: too few records' }),
      }
    }
    return [
      result('slowest first page with count', page => page === 0, 40),
      result('slowest next page of a walk', page => page > 0, 12),
    ]
  },
}

/** Milliseconds of each page of a walk. */
async function timedWalk(world: World, scope: Scope, other: Scope, { paths }: Walk): Promise<number[]> {
  const credentials = await world.provision(world, other)
  const { latencies } = await withService(world, scope, async ({ service, load }) => {
    const headers = await authorize(service.url, credentials)
    await load({ paths: paths.slice(0, WARM), headers, connections: 1 })
    return await load({ paths, connections: 1 })
  })
  return latencies
}
