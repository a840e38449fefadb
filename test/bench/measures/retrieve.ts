import { LIST } from '../../support/http.ts'
import { besidePgbench } from '../programs.ts'
import { broadScope, inScope } from '../scopes.ts'
import { type Measure, onStage } from '../stage.ts'

/** One record by its id, against pgbench on the bare look-up. */
export const retrieve: Measure = {
  name: 'retrieve',
  async run(world) {
    const scope = await broadScope(world.sql)
    const [row] = await world.sql.unsafe<{ id: string }[]>(
      `select id from export_records where ${inScope(scope)} order by id limit 1`,
    )
    const paths = [`${LIST}/${row?.id}`]
    const lookUp = {
      text: 'select document from export_records where id = :id',
      values: { id: row?.id ?? '' },
      aim: 0.37,
    }
    const figures = await onStage(world, scope, async ({ rate, warmUp }) => {
      await warmUp({ paths })
      return await besidePgbench(world, lookUp, () => rate({ paths }))
    })
    const measure = 'retrieve by id ÷ pgbench, the bare look-up'
    return [{ measure, ...figures, reach: { of: 'ratio', atLeast: 0.3 } }]
  },
}
