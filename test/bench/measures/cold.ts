import type { Sql } from 'postgres'
import { FIRST_PAGE, filtered, listFilter, SORTS, WARM } from '../paths.ts'
import { broadScope } from '../scopes.ts'
import { type SearchText, searchTextsIn } from '../search-texts.ts'
import type { Figures, Measure } from '../turns.ts'

/** Pages of a search after the first one. */
const NEXT = [100, 200, 300]

/**
 * First pages whose count is not in page memory: of each filter with many matches, by the slowest sort, and of searches
 * from the rarest text to the shortest, with the next pages.
 */
export const cold: Measure = {
  name: 'cold',
  async prepare(side) {
    const scope = await broadScope(side.sql)
    const filters = Object.entries(await filtersWithManyMatches(side.sql))
    const texts = await searchTextsIn(side.sql, scope)
    const timed = (paths: string[]) =>
      side.whileServing(scope, async ({ load }) => (await load({ paths, connections: 1 })).latencies)
    return async () => {
      const bySort: number[][] = []
      for (const sort of SORTS) {
        const paths = filters.map(([, query]) => `${FIRST_PAGE}&sort=${sort}${query}`)
        bySort.push((await timed([...WARM, ...paths])).slice(WARM.length))
      }
      const counts = filters.map(([name], at) => [
        `cold first page by the slowest sort, ${name}, ms`,
        Math.max(...bySort.map(latencies => latencies[at] ?? Number.NaN)),
      ])
      const others = texts.map(({ others: [other = ''] }) => filtered('filter[search]', other))
      const latencies = (await timed([...WARM, ...others, ...texts.flatMap(pathsOf)])).slice(
        WARM.length + others.length,
      )
      return { ...Object.fromEntries(counts), ...searches(texts, latencies) }
    }
  },
}

/** Filters that match many records, so that no index of the filter makes them fast. */
async function filtersWithManyMatches(sql: Sql): Promise<Record<string, string>> {
  const [row] = await sql<{ half: string; product: string; some: string[] }[]>`
    select
      percentile_disc(0.5) within group (order by certified_on)::text as half,
      mode() within group (order by product_id)::text as product,
      array(select distinct organization_id from export_records order by 1)::text[] as some
    from export_records`
  const { half = '', product = '', some = [] } = row ?? {}
  const list = (name: string, values: string[]) => `&${listFilter(name, values)}`
  return {
    'no filter': '',
    start_date: `&filter[start_date]=${half}`,
    end_date: `&filter[end_date]=${half}`,
    product_ids: list('product_ids', [product]),
    organization_ids: list(
      'organization_ids',
      some.filter((_, at) => at % 2 === 0),
    ),
    user_record_status: list('user_record_status', ['archived']),
    legacy_record: list('legacy_record', ['true']),
  }
}

/** The first page of a search, and the next ones. */
function pathsOf({ text }: SearchText): string[] {
  const first = filtered('filter[search]', text)
  return [first, ...NEXT.map(offset => `${first}&offset=${offset}`)]
}

function searches(texts: SearchText[], latencies: number[]): Figures {
  const figures: Figures = {}
  for (const [at, { name }] of texts.entries()) {
    const [first = Number.NaN, ...next] = latencies.slice(
      at * (1 + NEXT.length),
      (at + 1) * (1 + NEXT.length),
    )
    figures[`search, ${name}: first page with count, ms`] = first
    figures[`search, ${name}: slowest next page, ms`] = Math.max(...next)
  }
  return figures
}
