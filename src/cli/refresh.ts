import { UncertainFailure } from '../errors.ts'
import { refresh } from '../refresh/refresh.ts'
import { newCommand, readIds } from './arguments.ts'
import { type Change, changing, settled } from './changing.ts'
import { printJson, printTable, StatusLine } from './output.ts'
import { withCurrentSchema } from './with-database.ts'

/** axport refresh */
export const refreshCommand = () =>
  newCommand(
    'refresh',
    'Compare the export with the source tables, and correct records that differ.',
    `Needed only after a write to the source tables without their triggers: by logical replication, with
session_replication_role = replica, or by pg_restore --disable-triggers. Running services go on.

Example: axport refresh --organizations 12,13`,
  )
    .option('--organizations <ids>', 'only records of these organizations: 1,2 (default: all)', readIds)
    .option('--json', 'print a JSON object')
    .action(async ({ organizations = 'all', json }) => {
      const ids = organizations === 'all' ? undefined : organizations
      let repaired = 0
      const change: Change = {
        done: () => 'the last rows were corrected',
        soFar: () => (repaired === 0 ? 'nothing was changed' : `rows corrected so far: ${repaired}`),
        shown: 'run the same command again, which does no harm',
      }
      await changing(change, async interruption => {
        const refreshing = withCurrentSchema(async ({ sql }) => {
          using status = new StatusLine()
          return await refresh(sql, ids, (rows, repairedRows) => {
            repaired = repairedRows
            status.show(() => `compared ${rows} rows`)
          })
        }, interruption)
        const { result, failure } = await settled(refreshing)
        if (failure instanceof UncertainFailure) throw failure
        await printFound(result, json)
        if (failure) throw failure
      })
    })

async function printFound(found: Awaited<ReturnType<typeof refresh>>, json: true | undefined): Promise<void> {
  if (json) return await printJson(found)
  await printTable(
    ['', 'compared', 'missing', 'outdated', 'left over'],
    Object.entries(found).map(([name, { compared, missing, outdated, left_over }]) =>
      [name, compared, missing, outdated, left_over].map(String),
    ),
  )
}
