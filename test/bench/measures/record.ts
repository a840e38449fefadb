import { LIST } from '../../support/http.ts'
import { broadScope, firstIdIn } from '../scopes.ts'
import type { Measure } from '../turns.ts'

/** One record by its id. */
export const record: Measure = {
  name: 'record',
  async prepare(side) {
    const scope = await broadScope(side.sql)
    const job = { paths: [`${LIST}/${await firstIdIn(side.sql, scope)}`] }
    const client = await side.serve(scope)
    await client.warmUp(job)
    return async () => ({ 'records by id a second': await client.rate(job) })
  },
}
