import { refresh } from '../refresh/refresh.ts'
import { newCommand, readIds } from './arguments.ts'
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
      const found = await withCurrentSchema(async ({ sql }) => {
        using status = new StatusLine()
        return await refresh(sql, ids, rows => status.show(() => `compared ${rows} rows`))
      })
      if (json) return await printJson(found)
      await printTable(
        ['', 'compared', 'missing', 'outdated', 'left over'],
        Object.entries(found).map(([name, { compared, missing, outdated, left_over }]) =>
          [name, compared, missing, outdated, left_over].map(String),
        ),
      )
    })
