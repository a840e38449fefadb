import { ranked } from '../../src/postgres/standby/standbys.ts'
import { sha256 } from '../../src/random.ts'
import { type Credentials, newToken, tryList } from '../../test/support/http.ts'
import type { OwnCluster } from '../../test/support/own-cluster.ts'
import { until } from '../../test/support/until.ts'
import { runLoad } from '../job.ts'
import type { Measure } from '../measured-service.ts'
import { walkPaths } from '../paths.ts'
import { median, type Result } from '../results.ts'
import { inTurns } from '../rounds.ts'
import { broadScope, sizeOf } from '../scopes.ts'
import { familyCpuOf, type Service, startService } from '../service.ts'
import type { World } from '../world.ts'

const STANDBYS = [0, 1, 2]

/** A service and its two clients. With two standbys, each client's pages are read from another standby. */
interface Contestant {
  service: Service
  tokens: string[]
}

/**
 * A whole walk by two clients at once, on services with no standby, one and two; and the primary's processor time for a
 * page. All servers share the cores of one machine.
 */
export const standbys: Measure = {
  name: 'standbys',
  async run(world) {
    const { replicated } = world
    if (!replicated)
      return [
        {
          measure: 'standbys',
          unit: '',
          note: 'not measured: the benchmark did not start this Postgres',
        },
      ]
    return await replicated(2, (primary, standbys) => compareStandbys(world, primary, standbys))
  },
}

async function compareStandbys(world: World, primary: OwnCluster, standbys: OwnCluster[]): Promise<Result[]> {
  const scope = await broadScope(world.sql)
  const { count } = await sizeOf(world.sql, scope)
  const credentials = await world.provision(world, scope)
  const paths = walkPaths(count)
  const contestants: Contestant[] = []
  const work = STANDBYS.map((): number[] => [])
  try {
    for (const n of STANDBYS) contestants.push(await start(world, credentials, standbys.slice(0, n)))
    const walkOf = (n: number) => async () => {
      const { service, tokens } = contestants[n] as Contestant
      const before = familyCpuOf(primary.pid) ?? Number.NaN
      const started = performance.now()
      const walks = tokens.map(token =>
        runLoad({ url: service.url, headers: { authorization: `Bearer ${token}` }, connections: 4, paths }),
      )
      const pages = (await Promise.all(walks)).reduce((sum, { requests }) => sum + requests, 0)
      const seconds = (performance.now() - started) / 1000
      work[n]?.push(((familyCpuOf(primary.pid) ?? Number.NaN) - before) / pages)
      return pages / seconds
    }
    // A walk for warm-up, because Bun compiles code that runs often.
    for (const n of STANDBYS) await walkOf(n)()
    for (const times of work) times.length = 0
    const rounds = Math.min(3, world.options.rounds)
    const rates = await inTurns(rounds, Object.fromEntries(STANDBYS.map(n => [`${n}`, walkOf(n)])))
    return STANDBYS.flatMap(n => {
      const name = n === 1 ? '1 standby' : `${n} standbys`
      const rate = median(rates[`${n}`] ?? [])
      return [
        {
          measure: `pages of two walks over ${count.toLocaleString('en-US')}, ${name}`,
          figure: rate,
          unit: '/s',
          ...(n > 0 && {
            beside: 'without standbys',
            limit: median(rates['0'] ?? []),
            ratio: rate / median(rates['0'] ?? []),
          }),
        },
        {
          measure: `processor time of the primary for a page, ${name}`,
          figure: median(work[n] ?? []),
          unit: 'µs',
        },
      ]
    })
  } finally {
    for (const { service } of contestants) await service.stop()
  }
}

async function start(world: World, credentials: Credentials, standbys: OwnCluster[]): Promise<Contestant> {
  const hosts = standbys.map(standby => new URL(standby.url()).host)
  const readUrl = world.databaseUrl.replace(/@[^/]+/, `@${hosts.join(',')}`)
  const settings: Record<string, string> = standbys.length > 0 ? { DATABASE_READ_URL: readUrl } : {}
  const service = await startService(world.executable, world.databaseUrl, settings)
  const servers = hosts.map(name => ({ name, seed: Bun.hash(name) as bigint }))
  const tokens: string[] = []
  for (const client of [0, 1]) {
    const wanted = servers[client % Math.max(1, servers.length)]?.name
    let token = await newToken(service.url, credentials)
    while (ranked(sha256(token), servers)[0]?.name !== wanted)
      token = await newToken(service.url, credentials)
    await until(
      'the standbys have replayed the token',
      async () => (await tryList(service.url, token)).status === 200,
    )
    tokens.push(token)
  }
  return { service, tokens }
}
