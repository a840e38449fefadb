import { TOKEN, tokenRequest } from '../../support/http.ts'
import { type Job, runLoads } from '../job.ts'
import { FIRST_PAGE, filtered, walkPaths } from '../paths.ts'
import { besides, broadScope, sizeOf } from '../scopes.ts'
import type { Side } from '../side.ts'
import type { Figures, Measure } from '../turns.ts'

/** Connections of an integration that asks for first pages. */
const USUAL = 64

/** Connections that repeat at once what is refused. */
const WILD = 4000

/** Searches of two letters at a time, each of which nobody has asked for before, and how many there are in a round. */
const SEARCHING = 64
const SEARCHES = 500

const UNKNOWN = 'x'.repeat(43)

/** Clients that repeat at once what is refused, beside an integration with many connections, and one that walks. */
export const storm: Measure = {
  name: 'storm',
  async prepare(side) {
    const scope = await broadScope(side.sql)
    const { url, headers, load, peakMemory } = await side.serve(scope)
    const walk = walkPaths((await sizeOf(side.sql, scope)).count)
    const job = { url, seconds: side.options.seconds, isRude: true }
    const pages = { ...job, headers, paths: [FIRST_PAGE], connections: USUAL }
    const other = { ...job, paths: walk, connections: 1, headers: await side.authorize(url, besides(scope)) }
    const storms: Record<string, Job> = {
      'more pages': { ...pages, connections: WILD },
      'wrong tokens': { ...pages, headers: { authorization: `Bearer ${UNKNOWN}` }, connections: WILD },
      'wrong secrets': { ...job, ...(await wrongSecret(side)), connections: WILD },
    }
    const searches = searchPaths()
    await load(pages)
    await load(other)

    /** The rates of all jobs but the last one, and of the last one. */
    const together = async (...jobs: Job[]) => {
      const rates = (await runLoads(jobs)).map(({ requests, seconds }) => requests / seconds)
      return { last: rates.pop() ?? Number.NaN, others: rates.reduce((sum, rate) => sum + rate, 0) }
    }
    return async () => {
      const quiet = await together(pages, other)
      const figures: Figures = {
        [`pages a second by ${USUAL} connections`]: quiet.others,
        'pages a second of another integration beside them': quiet.last,
      }
      for (const [name, wild] of Object.entries(storms)) {
        const stormy = await together(wild, pages, other)
        figures[`${WILD} connections repeat ${name}: pages ÷ quiet`] = stormy.others / quiet.others
        figures[`${WILD} connections repeat ${name}: of another integration ÷ quiet`] =
          stormy.last / quiet.last
      }
      const paths = searches.splice(0, SEARCHES)
      searches.push(...paths)
      const { last } = await together({ ...pages, paths, connections: SEARCHING }, other)
      figures[`pages a second of another integration beside ${SEARCHING} searches`] = last
      const peak = peakMemory()
      if (peak !== undefined) figures['peak memory of the process in storms, MB'] = peak
      return figures
    }
  },
}

async function wrongSecret(side: Side) {
  const known = await side.provision(await broadScope(side.sql))
  const body = new URLSearchParams({ ...tokenRequest(known), client_secret: UNKNOWN }).toString()
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  return { method: 'POST' as const, paths: [TOKEN], headers, body }
}

/** A new search for each request: two letters, from a day on. */
function searchPaths(): string[] {
  const letters = [...'abcdefghijklmnopqrstuvwxyz']
  const pairs = letters.flatMap(one => letters.map(two => one + two))
  const days = Array.from({ length: 12 }, (_, at) => `2021-${String(at + 1).padStart(2, '0')}-01`)
  return days.flatMap(day =>
    pairs.map(pair => `${filtered('filter[search]', pair)}&filter[start_date]=${day}`),
  )
}
