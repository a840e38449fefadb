import type { Database } from '../postgres/database.ts'
import { refresh } from '../refresh/refresh.ts'
import { newCommand, readIds } from './arguments.ts'
import { changing, settled, severalChanges } from './changing.ts'
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
      const run = async ({ sql }: Database) => {
        using status = new StatusLine()
        const onRows = (rows: number) => status.show(() => `compared ${rows} rows`)
        const { result, failure } = await settled(refresh(sql, ids, onRows))
        status.clear()
        if (failure) {
          if (json) await printJson({ committed: null })
          throw failure
        }
        await printFound(result, json)
      }
      await changing(severalChanges('nothing was changed'), interruption =>
        withCurrentSchema(run, interruption),
      )
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
