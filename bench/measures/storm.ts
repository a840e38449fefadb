import { runLoads } from '../job.ts'
import { type Measure, type MeasuredService, withService } from '../measured-service.ts'
import { filtered, walkPaths } from '../paths.ts'
import { median, type Result } from '../results.ts'
import { inTurns } from '../rounds.ts'
import { broadScope, sizeOf } from '../scopes.ts'
import { authorize, FIRST_PAGE } from '../service.ts'
import type { World } from '../world.ts'

/** Connections of the integration that storms. What is refused is repeated at once. */
const CONNECTIONS = [64, 1000, 4000]

/** Requests of that integration at a time, each with a search of two letters that nobody has asked for before. */
const SEARCHES = [8, 64]

const LETTERS = [...'abcdefghijklmnopqrstuvwxyz']

/** A new search for each request: two letters, from a day on. */
function searchPaths(): string[] {
  const pairs = LETTERS.flatMap(one => LETTERS.map(other => one + other))
  const days = Array.from({ length: 12 }, (_, at) => `2021-${String(at + 1).padStart(2, '0')}-01`)
  return days.flatMap(day =>
    pairs.map(pair => `${filtered('filter[search]', pair)}&filter[start_date]=${day}`),
  )
}

/** Pages a second of the integration that storms, and of another one that reads page after page. */
interface Figures {
  stormer: number
  other: number
}

/** One integration asks for more than there is, while another one reads page after page. */
export const storm: Measure = {
  name: 'storm',
  async run(world) {
    const scope = await broadScope(world.sql)
    const { count } = await sizeOf(world.sql, scope)
    const other = await world.provision(world, { ...scope, products: scope.products.slice(1) })
    return await withService(world, scope, async measured => {
      const { service, load } = measured
      const otherHeaders = await authorize(service.url, other)
      const walk = walkPaths(count)
      await load({ paths: walk, headers: otherHeaders, seconds: world.options.seconds, connections: 1 })
      const beside = (paths: string[], connections: number) =>
        together(world, measured, { paths, connections }, { paths: walk, headers: otherHeaders })
      const figures = await rounds(world, beside)
      return [...resultsOf(figures), memoryOf(measured)]
    })
  },
}

/** The figures of each storm by round. */
async function rounds(world: World, beside: (paths: string[], connections: number) => Promise<Figures>) {
  const found = new Map<string, Figures[]>()
  const searches = searchPaths()
  const contestant = (name: string, paths: () => string[], connections: number) => {
    found.set(name, [])
    const measure = async () => {
      const figures = await beside(paths(), connections)
      found.get(name)?.push(figures)
      return figures.other
    }
    return [name, measure] as const
  }
  await inTurns(
    world.options.rounds,
    Object.fromEntries([
      ...CONNECTIONS.map(connections =>
        contestant(`${connections} connections`, () => [FIRST_PAGE], connections),
      ),
      // No search is asked for twice.
      ...SEARCHES.map(count => contestant(`${count} searches`, () => searches.splice(0, 500), count)),
    ]),
  )
  return found
}

async function together(
  { options: { seconds } }: World,
  { service: { url }, headers }: MeasuredService,
  storming: { paths: string[]; connections: number },
  reading: { paths: string[]; headers: Record<string, string> },
): Promise<Figures> {
  const [stormer, other] = await runLoads([
    { url, headers, seconds, isRude: true, ...storming },
    { url, seconds, isRude: true, connections: 1, ...reading },
  ])
  const rate = (outcome = stormer) => (outcome ? outcome.requests / outcome.seconds : Number.NaN)
  return { stormer: rate(stormer), other: rate(other) }
}

function resultsOf(found: Map<string, Figures[]>): Result[] {
  const line = (name: string, who: keyof Figures, base: string, atLeast: number): Result => {
    const figures = (found.get(name) ?? []).map(each => each[who])
    const limits = (found.get(base) ?? []).map(each => each[who])
    const whose = who === 'other' ? 'of another integration' : 'of the one that storms'
    return {
      measure: `pages ${whose}, ${name}`,
      unit: '/s',
      figure: median(figures),
      rounds: figures.map((figure, at) => ({ figure, limit: limits[at] as number })),
      ...(name !== base && {
        beside: base,
        limit: median(limits),
        ratio: median(figures.map((figure, at) => figure / (limits[at] as number))),
        reach: { of: 'ratio' as const, atLeast },
      }),
    }
  }
  return [
    ...CONNECTIONS.flatMap(connections => [
      line(`${connections} connections`, 'stormer', '64 connections', 0.6),
      line(`${connections} connections`, 'other', '64 connections', 0.5),
    ]),
    ...SEARCHES.map(count => line(`${count} searches`, 'other', '8 searches', 0.5)),
  ]
}

const memoryOf = ({ service }: MeasuredService): Result => {
  const found = service.memory()
  return {
    measure: 'peak memory of the process in these storms',
    unit: 'MB',
    reach: { of: 'value', atMost: 300 },
    ...(found ? { figure: found.peak } : { note: 'no /proc' }),
  }
}
