import { Command } from 'commander'
import { listIntegrations } from '../../integrations/report.ts'
import { print, printTable } from '../output.ts'
import { withDatabase } from '../with-database.ts'

/** axport integration list */
export function listCommand(): Command {
  return new Command('list')
    .description('List the integrations.')
    .option('--json', 'print a JSON array')
    .addHelpText('after', '\nExample: axport integration list --json')
    .action(async ({ json }: { json?: true }) => {
      const integrations = await withDatabase(({ sql }) => listIntegrations(sql))
      if (json) {
        await print(`${JSON.stringify(integrations)}\n`)
        return
      }
      if (integrations.length === 0) {
        await print('There are no integrations yet: axport integration create NAME makes one.\n')
        return
      }
      await printTable(
        ['client id', 'name', 'state', 'organizations', 'products', 'live tokens', 'last used'],
        integrations.map(i => [
          i.client_id,
          i.name,
          i.state,
          String(i.organizations),
          String(i.products),
          String(i.live_tokens),
          i.last_used_at ?? 'never',
        ]),
      )
    })
}
