import { pgbench, WITHOUT_PGBENCH } from '../programs.ts'
import { compare } from '../rounds.ts'
import { broadScope, inScope } from '../scopes.ts'
import { LIST } from '../service.ts'
import { type Measure, onStage } from '../stage.ts'

/** One record by its id, against pgbench on the bare look-up. */
export const retrieve: Measure = {
  name: 'retrieve',
  async run(world) {
    const { rounds, seconds } = world.options
    const scope = await broadScope(world.sql)
    const [row] = await world.sql.unsafe<{ id: string }[]>(
      `select id from export_records where ${inScope(scope)} order by id limit 1`,
    )
    const paths = [`${LIST}/${row?.id}`]
    const lookUp = {
      text: 'select document from export_records where id = $1',
      parameters: [row?.id ?? null],
      session: {},
    }
    const limit = pgbench(world.databaseUrl, lookUp, world.options)
    const compared = await onStage(world, scope, async ({ rate }) => {
      await rate({ paths, seconds: Math.min(1, seconds) })
      return await compare(rounds, () => rate({ paths }), limit)
    })
    return [
      {
        measure: 'retrieve by id ÷ pgbench, the bare look-up',
        ...compared,
        unit: '/s',
        beside: 'pgbench',
        reach: { of: 'ratio', atLeast: 0.3 },
        note: limit ? 'aim: 0.37' : WITHOUT_PGBENCH,
      },
    ]
  },
}
