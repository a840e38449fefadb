import type { Sql } from 'postgres'
import { median, type Result } from '../results.ts'
import { mostProducts, sizeOf } from '../scopes.ts'
import { FIRST_PAGE } from '../service.ts'
import { type Measure, onTap } from '../stage.ts'
import type { Sent } from '../tap.ts'
import type { Scope, World } from '../world.ts'

const SORTS = ['certified_on', 'user_name', 'proctor_name', 'product_name']

/**
 * Three organizations out of all: the time in Postgres, planning included, of the first page with its count,
 * of the slowest page of a walk in any sort, and of the slowest jump. Once for three of middle size, which is
 * what an integration of three has, and once for the three largest.
 */
export const few: Measure = {
  name: 'few',
  async run(world) {
    const ranked = await world.sql<{ id: string }[]>`
      select organization_id as id from export_records group by 1 order by count(*) desc, 1`
    const ids = ranked.map(row => row.id)
    const middle = Math.max(0, Math.floor(ids.length / 2) - 1)
    const products = await mostProducts(world.sql)
    const scopeOf = (from: number) => ({ organizations: ids.slice(from, from + 3), products })
    return [
      ...(await slowest(world, scopeOf(middle), `3 of ${ids.length} organizations`, { count: 4, jump: 4 })),
      ...(await slowest(world, scopeOf(0), 'the 3 largest organizations', { count: 15, jump: 30 })),
    ]
  },
}

interface Timed {
  what: string
  ms: number
}

async function slowest(
  world: World,
  scope: Scope,
  name: string,
  reach: { count: number; jump: number },
): Promise<Result[]> {
  const { count } = await sizeOf(world.sql, scope)
  const deep = [0.9, 0.5, 0].map(depth => Math.floor((count * depth) / 100) * 100)
  const first: Timed[] = []
  const walked: Timed[] = []
  const jumped: Timed[] = []
  await onTap(world, scope, async ask => {
    const counted = await ask(FIRST_PAGE)
    const sql = world.connect(world.databaseUrl, counted[0]?.session)
    const time = (what: string, sent: Sent[]) => timeInPostgres(sql, world.options.rounds, what, sent)
    first.push(await time(`counts ${count.toLocaleString('en-US')}`, counted))
    for (const sort of SORTS) {
      for (const order of ['ASC', 'DESC']) {
        const page = (offset: number) => `${FIRST_PAGE}&sort=${sort}&order=${order}&offset=${offset}`
        // The deepest first: a place that is nearer to the start is no help to get there.
        for (const offset of deep) {
          const what = `${sort} ${order} at ${offset} of ${count}`
          jumped.push(await time(what, await ask(page(offset))))
          const before = offset === 0 ? [] : [page(offset - 100)]
          walked.push(await time(what, await ask(...before, page(offset))))
        }
      }
    }
    await sql.end()
  })
  return [
    resultOf(`${name}, first page with count, in Postgres`, first, reach.count),
    resultOf(`${name}, a walk's slowest page, in Postgres`, walked, 4),
    resultOf(`${name}, slowest jump, in Postgres`, jumped, reach.jump),
  ]
}

function resultOf(measure: string, times: Timed[], atMost: number): Result {
  const { ms, what } = times.reduce((a, b) => (a.ms >= b.ms ? a : b))
  return { measure, figure: ms, unit: 'ms', reach: { of: 'value', atMost }, note: what }
}

/** Milliseconds for planning and executing all that was sent for a page. */
async function timeInPostgres(sql: Sql, rounds: number, what: string, sent: Sent[]): Promise<Timed> {
  if (sent.length === 0) throw new Error(`${what}: no statement reads records`)
  let ms = 0
  for (const { text, parameters } of sent) {
    const times: number[] = []
    for (let round = 0; round < rounds; round++) {
      const [row] = await sql.unsafe<
        { 'QUERY PLAN': [{ 'Planning Time': number; 'Execution Time': number }] }[]
      >(`explain (analyze, timing off, format json) ${text}`, parameters)
      const plan = row?.['QUERY PLAN'][0]
      times.push((plan?.['Planning Time'] ?? Number.NaN) + (plan?.['Execution Time'] ?? Number.NaN))
    }
    ms += median(times)
  }
  return { what, ms }
}
