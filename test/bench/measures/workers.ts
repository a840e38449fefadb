import { axport } from '../executable.ts'
import { compare } from '../rounds.ts'
import { broadScope } from '../scopes.ts'
import { FIRST_PAGE } from '../service.ts'
import { type Measure, onStage } from '../stage.ts'

/** Two workers beside one: for information, since the load and Postgres want the same cores. */
export const workers: Measure = {
  name: 'workers',
  async run(world) {
    const result = {
      measure: 'first pages with --workers 2 ÷ --workers 1',
      unit: '/s',
      beside: '--workers 1',
    }
    const help = await axport(world.executable, ['serve', '--help'])
    if (!help.includes('--workers')) {
      return [{ ...result, note: 'not measured: this executable has no --workers' }]
    }
    const scope = await broadScope(world.sql)
    const withWorkers = (count: number) => ({ args: ['--workers', String(count)] })
    const compared = await onStage(
      world,
      scope,
      one =>
        onStage(
          world,
          scope,
          async two => {
            for (const { load } of [one, two]) await load({ paths: [FIRST_PAGE], seconds: 1 })
            const rateOf = (stage: typeof one) => () => stage.rate({ paths: [FIRST_PAGE] })
            return await compare(world.options.rounds, rateOf(two), rateOf(one))
          },
          withWorkers(2),
        ),
      withWorkers(1),
    )
    return [{ ...result, ...compared }]
  },
}
