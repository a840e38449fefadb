import type { Sql } from 'postgres'
import { latenciesOf, type Measure } from '../measured-service.ts'
import { listFilter, SORTS, WARM } from '../paths.ts'
import { median, type Result } from '../results.ts'
import { broadScope, inScope } from '../scopes.ts'
import { FIRST_PAGE } from '../service.ts'
import type { World } from '../world.ts'

/** A filter in a request, and the same condition on the narrow copy. */
interface Filter {
  name: string
  query: string
  condition: string
}

/**
 * First pages whose count is not in page memory, for each filter with many matches and in each sort. They are compared
 * with a parallel count(*) of the same records over a copy of the data that has only the filtered columns.
 */
export const cold: Measure = {
  name: 'cold',
  async run(world) {
    await narrowCopy(world.sql)
    try {
      const filters = await manyLeft(world.sql)
      const pages = filters.map((): number[][] => SORTS.map(() => []))
      const counts = filters.map((): number[] => [])
      for (let round = 0; round < world.options.rounds; round++) {
        for (const [at, found] of (await timedCounts(world, filters)).entries()) counts[at]?.push(found)
        for (const [nth, sort] of SORTS.entries()) {
          for (const [at, found] of (await timedPages(world, filters, sort)).entries())
            pages[at]?.[nth]?.push(found)
        }
      }
      return filters.map(({ name }, at) => resultOf(name, pages[at] ?? [], counts[at] ?? []))
    } finally {
      await world.sql`drop table bench_narrow`
    }
  },
}

async function narrowCopy(sql: Sql): Promise<void> {
  await sql`drop table if exists bench_narrow`
  await sql`
    create table bench_narrow as
    select id::int, organization_id::int, product_id::int, user_id::int, certified_on, legacy_record,
      is_archived
    from export_records order by id`
  await sql`vacuum analyze bench_narrow`
}

/** The filters of the list request that match many records, so that no index of the filter makes them fast. */
async function manyLeft(sql: Sql): Promise<Filter[]> {
  const [half] = await sql<{ day: string }[]>`
    select percentile_disc(0.5) within group (order by certified_on)::text as day from bench_narrow`
  const [product] = await sql<{ id: number }[]>`
    select product_id as id from bench_narrow group by 1 order by count(*) desc, 1 limit 1`
  const organizations = await sql<{ id: number }[]>`
    select organization_id as id from bench_narrow group by 1 order by 1`
  const some = organizations.filter((_, at) => at % 2 === 0).map(({ id }) => id)
  const scalar = (name: string, condition: string) => ({
    name,
    query: `filter[${name}]=${half?.day}`,
    condition,
  })
  const list = (name: string, values: unknown[], condition: string) => ({
    name,
    query: listFilter(name, values.map(String)),
    condition,
  })
  return [
    { name: 'no filter', query: '', condition: 'true' },
    scalar('start_date', `certified_on >= '${half?.day}'`),
    scalar('end_date', `certified_on <= '${half?.day}'`),
    list('product_ids', [product?.id], `product_id = ${product?.id}`),
    list('organization_ids', some, `organization_id = any ('{${some}}')`),
    list('user_record_status', ['archived'], 'is_archived'),
    list('legacy_record', [true], 'legacy_record'),
  ]
}

/** Milliseconds of the first page of each filter, on a service that has answered requests about single persons only. */
async function timedPages(world: World, filters: Filter[], sort: string): Promise<number[]> {
  const paths = filters.map(({ query }) => `${FIRST_PAGE}&sort=${sort}&${query}`)
  const latencies = await latenciesOf(world, await broadScope(world.sql), [...WARM, ...paths])
  return latencies.slice(WARM.length)
}

/** Milliseconds of the count of each filter. */
async function timedCounts(world: World, filters: Filter[]): Promise<number[]> {
  const scope = inScope(await broadScope(world.sql))
  const times: number[] = []
  for (const { condition } of filters) {
    const start = performance.now()
    await world.sql.unsafe(`select count(*) from bench_narrow where ${scope} and ${condition}`)
    times.push(performance.now() - start)
  }
  return times
}

/** The result of the slowest sort. */
function resultOf(name: string, pages: number[][], counts: number[]): Result {
  const medians = pages.map(median)
  const figure = Math.max(...medians)
  const limit = median(counts)
  const slowest = medians.indexOf(figure)
  return {
    measure: `cold first page with count: ${name} ÷ parallel count(*) over a narrow copy`,
    figure,
    limit,
    ratio: figure / limit,
    unit: 'ms',
    beside: 'count(*)',
    reach: { of: 'ratio', atMost: 1.5 },
    note: `slowest by ${SORTS[slowest]}; aim: 1`,
    rounds: (pages[slowest] ?? []).map((page, at) => ({ figure: page, limit: counts[at] ?? limit })),
  }
}
