import { LIST } from '../../test/support/http.ts'
import { axport } from '../executable.ts'
import { type Measure, type MeasuredService, withBoth } from '../measured-service.ts'
import type { Result } from '../results.ts'
import { besideBefore, inTurns } from '../rounds.ts'
import { broadScope, firstIdIn } from '../scopes.ts'
import { FIRST_PAGE } from '../service.ts'

/** First pages and records by id, without and with recorded disclosures, beside the earlier executable. */
export const earlier: Measure = {
  name: 'earlier',
  async run(world) {
    const scope = await broadScope(world.sql)
    const requests = {
      'first pages': [FIRST_PAGE],
      'records by id': [`${LIST}/${await firstIdIn(world.sql, scope)}`],
    }
    const record = async (state: 'on' | 'off') => {
      for (const { executable, databaseUrl } of [world, ...(world.before ? [world.before] : [])])
        await axport(executable, ['migrate', '--disclosures', state], { DATABASE_URL: databaseUrl })
    }
    return await withBoth(world, scope, async (present, before) => {
      const results: Result[] = []
      try {
        for (const state of ['off', 'on'] as const) {
          await record(state)
          for (const [what, paths] of Object.entries(requests)) {
            for (const measured of [present, before]) await measured?.warmUp({ paths })
            const rate = (measured: MeasuredService) => () => measured.rate({ paths })
            const rates = await inTurns(world.options.rounds, {
              present: rate(present),
              before: before && rate(before),
            })
            const measure = `${what}, disclosures ${state}`
            results.push(besideBefore(measure, '/s', rates.present, rates.before))
          }
        }
        return results
      } finally {
        await record('off')
      }
    })
  },
}
