import { LIST } from '../../test/support/http.ts'
import { type Measure, withService } from '../measured-service.ts'
import { compareWithPgbench } from '../pgbench.ts'
import { broadScope, firstIdIn } from '../scopes.ts'

/** One record by its id, compared with pgbench that reads only the record. */
export const retrieve: Measure = {
  name: 'retrieve',
  async run(world) {
    const scope = await broadScope(world.sql)
    const id = await firstIdIn(world.sql, scope)
    const paths = [`${LIST}/${id}`]
    const lookUp = {
      text: 'select document from export_records where id = :id',
      values: { id },
    }
    const figures = await withService(world, scope, async ({ rate, warmUp }) => {
      await warmUp({ paths })
      return await compareWithPgbench(world, lookUp, () => rate({ paths }))
    })
    const measure = 'retrieve by id ÷ pgbench, only the look-up'
    return [{ measure, ...figures, reach: { of: 'ratio', atLeast: 0.28 } }]
  },
}
