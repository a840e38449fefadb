import { Command } from 'commander'
import type { Ids } from '../integrations/scope.ts'
import { type Found, refresh } from '../refresh/refresh.ts'
import { readIds } from './arguments.ts'
import { print, printTable, StatusLine } from './output.ts'
import { withCurrentSchema } from './with-database.ts'

/** axport refresh */
export function refreshCommand(): Command {
  return new Command('refresh')
    .description('Render anew what the export shows otherwise than its source, and say what that was.')
    .option('--organizations <ids>', 'only the records of these, as 1,2', readIds, 'all')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
For when somebody wrote the source tables past their triggers: logical replication, a session with
session_replication_role = replica, pg_restore --disable-triggers. The service goes on meanwhile.

Example: axport refresh --organizations 12,13`,
    )
    .action(async ({ organizations, json }: { organizations: Ids; json?: true }) => {
      const status = new StatusLine()
      const found = await withCurrentSchema(({ sql }) =>
        refresh(sql, organizations === 'all' ? undefined : organizations, rows =>
          status.show(() => `compared ${rows} rows`),
        ),
      ).finally(() => status.clear())
      if (json) {
        await print(`${JSON.stringify(found)}\n`)
        return
      }
      await printTable(
        ['', 'compared', 'missing', 'outdated', 'left over'],
        [
          rowOf('records', found.records),
          rowOf('people', found.people),
          rowOf('products', found.products),
          rowOf('counts', found.counts),
        ],
      )
    })
}

function rowOf(name: string, { compared, missing, outdated, left_over }: Found): string[] {
  return [name, ...[compared, missing, outdated, left_over].map(String)]
}
