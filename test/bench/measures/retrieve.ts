import { pgbench, WITHOUT_PGBENCH } from '../programs.ts'
import { compare } from '../rounds.ts'
import { broadScope } from '../scopes.ts'
import { LIST } from '../service.ts'
import { type Measure, onlyOne, onStage, onTap } from '../stage.ts'

/** One record by its id, against pgbench running the same statement. */
export const retrieve: Measure = {
  name: 'retrieve',
  async run(world) {
    const { rounds, seconds } = world.options
    const scope = await broadScope(world.sql)
    const [row] = await world.sql<{ id: string }[]>`
      select id from export_records
      where organization_id = any (${scope.organizations}::bigint[])
        and product_id = any (${scope.products}::bigint[])
      order by id limit 1`
    const path = `${LIST}/${row?.id}`
    const lookUp = onlyOne(await onTap(world, scope, ask => ask(path, path)))
    const limit = pgbench(world.databaseUrl, lookUp, world.options)
    const compared = await onStage(world, scope, async ({ rate }) => {
      await rate({ paths: [path], seconds: Math.min(1, seconds) })
      return await compare(rounds, () => rate({ paths: [path] }), limit)
    })
    return [
      {
        measure: 'retrieve by id ÷ pgbench, same statement',
        ...compared,
        unit: '/s',
        beside: 'pgbench',
        reach: { of: 'ratio', atLeast: 0.5 },
        ...(!limit && { note: WITHOUT_PGBENCH }),
      },
    ]
  },
}
