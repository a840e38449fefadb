import { runLoads } from '../job.ts'
import { FIRST_PAGE, filtered, walkPaths } from '../paths.ts'
import { besides, broadScope, sizeOf } from '../scopes.ts'
import type { Figures, Measure } from '../turns.ts'

/** Connections of the integration that storms. What is refused is repeated at once. */
const CONNECTIONS = [64, 1000, 4000]

/** Requests of that integration at a time, each with a search of two letters that nobody has asked for before. */
const SEARCHES = [8, 64]

/** The searches of one storm. */
const MOST = 500

const LETTERS = [...'abcdefghijklmnopqrstuvwxyz']

/** A new search for each request: two letters, from a day on. */
function searchPaths(): string[] {
  const pairs = LETTERS.flatMap(one => LETTERS.map(other => one + other))
  const days = Array.from({ length: 12 }, (_, at) => `2021-${String(at + 1).padStart(2, '0')}-01`)
  return days.flatMap(day =>
    pairs.map(pair => `${filtered('filter[search]', pair)}&filter[start_date]=${day}`),
  )
}

/** One integration asks for more than there is, while another one reads page after page. */
export const storm: Measure = {
  name: 'storm',
  async prepare(side) {
    const scope = await broadScope(side.sql)
    const { url, headers, load, peakMemory } = await side.serve(scope)
    const walk = walkPaths((await sizeOf(side.sql, scope)).count)
    const { seconds } = side.options
    const reader = { url, connections: 1, paths: walk, headers: await side.authorize(url, besides(scope)) }
    const searches = searchPaths()
    await load({ ...reader, seconds })

    const together = async (paths: string[], connections: number) => {
      const job = { seconds, isRude: true }
      const storming = { ...job, url, headers, paths, connections }
      const outcomes = await runLoads([storming, { ...job, ...reader }])
      return outcomes.map(({ requests, seconds }) => requests / seconds) as [stormer: number, other: number]
    }
    return async () => {
      const figures: Figures = {}
      for (const connections of CONNECTIONS) {
        const [stormer, other] = await together([FIRST_PAGE], connections)
        figures[`pages a second of one that storms, ${connections} connections`] = stormer
        figures[`pages a second of another one, beside ${connections} connections`] = other
      }
      for (const count of SEARCHES) {
        const [, other] = await together(searches.splice(0, MOST), count)
        figures[`pages a second of another one, beside ${count} searches`] = other
      }
      const peak = peakMemory()
      return { ...figures, ...(peak !== undefined && { 'peak memory of the process in storms, MB': peak }) }
    }
  },
}
