import { type Measure, withService } from '../measured-service.ts'
import { filtered, walkPaths } from '../paths.ts'
import { broadScope, sizeOf } from '../scopes.ts'
import { NO_PROC } from '../service.ts'
import { tokenJob } from './tokens.ts'

/** The memory of the process under a mixed load: walks, compressed walks, filters, tokens. */
export const memory: Measure = {
  name: 'memory',
  async run(world) {
    const scope = await broadScope(world.sql)
    const { count } = await sizeOf(world.sql, scope)
    const seconds = world.options.seconds * 4
    return await withService(world, scope, async ({ service, credentials, headers, load }) => {
      const accepting = (coding: string) => ({ ...headers, 'accept-encoding': coding })
      const ofUsers = Array.from({ length: 2000 }, (_, at) => filtered('filter[user_ids][]', at + 1000))
      const byName = walkPaths(count, '&sort=user_name').toReversed()
      await Promise.all([
        load({ paths: walkPaths(count), seconds }),
        load({ paths: byName, headers: accepting('gzip'), seconds, connections: 4 }),
        load({ paths: walkPaths(count, '&order=desc'), headers: accepting('zstd'), seconds, connections: 4 }),
        load({ paths: ofUsers, seconds, connections: 2 }),
        load({ ...tokenJob(credentials), seconds, connections: 2 }),
      ])
      const found = service.memory()
      return [
        {
          measure: 'peak memory of the process, full load',
          unit: 'MB',
          reach: { of: 'value', atMost: 250 },
          ...(found && { figure: found.peak }),
          note: found ? `${found.now.toFixed(0)} MB after the load` : NO_PROC,
        },
      ]
    })
  },
}
