import { join } from 'node:path'
import { runLoad } from '../job.ts'
import { pgbench, WITHOUT_PGBENCH } from '../programs.ts'
import { compare } from '../rounds.ts'
import { broadScope } from '../scopes.ts'
import { FIRST_PAGE } from '../service.ts'
import { type Measure, onlyOne, onStage, onTap } from '../stage.ts'
import type { World } from '../world.ts'

/** First pages a second against pgbench running the same statement, and what the load itself can do at most. */
export const firstPage: Measure = {
  name: 'first-page',
  async run(world) {
    const { rounds, seconds } = world.options
    const scope = await broadScope(world.sql)
    // Twice: what is asked for the first time counts as well, which the service then remembers.
    const page = onlyOne(await onTap(world, scope, ask => ask(FIRST_PAGE, FIRST_PAGE)))
    return await onStage(world, scope, async ({ load }) => {
      const warm = await load({ paths: [FIRST_PAGE], seconds: Math.min(1, seconds) })
      const bytes = Math.round(warm.bytes / warm.requests)
      let cores = 0
      const figure = async () => {
        const outcome = await load({ paths: [FIRST_PAGE], seconds })
        cores = outcome.cpu / outcome.seconds
        return outcome.requests / outcome.seconds
      }
      const limit = pgbench(world.databaseUrl, page, world.options)
      const compared = await compare(rounds, figure, limit)
      return [
        {
          measure: 'first pages ÷ pgbench, same statement',
          ...compared,
          unit: '/s',
          beside: 'pgbench',
          reach: { of: 'ratio', atLeast: 0.35 },
          note: limit ? 'aim: 0.5' : WITHOUT_PGBENCH,
        },
        {
          measure: 'the load by itself',
          figure: await trivialRate(world, bytes),
          unit: '/s',
          note: `a fixed answer of ${bytes} bytes; it took ${cores.toFixed(2)} cores while first pages were measured`,
        },
      ]
    })
  },
}

/** How fast the load is against a server that does nothing. */
async function trivialRate(world: World, bytes: number): Promise<number> {
  const { connections, seconds } = world.options
  const script = join(import.meta.dir, '..', 'trivial-server.ts')
  const server = Bun.spawn([process.execPath, script, String(bytes)], { stdout: 'pipe' })
  try {
    const { value } = await server.stdout.getReader().read()
    const url = new TextDecoder().decode(value).trim()
    const outcome = await runLoad({ url, connections, paths: ['/'], seconds })
    return outcome.requests / outcome.seconds
  } finally {
    server.kill()
    await server.exited
  }
}
