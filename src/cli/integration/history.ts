import { Command } from 'commander'
import { exactJson } from '../../integrations/exact-ids.ts'
import { readHistory } from '../../integrations/history.ts'
import { print, printTable } from '../output.ts'
import { withDatabase } from '../with-database.ts'
import { phrases } from './changes.ts'

/** axport integration history */
export function historyCommand(): Command {
  return new Command('history')
    .description('Show all that was ever done with integrations, also with those that were deleted.')
    .argument('[id]', 'a client id (left out: all)')
    .option('--json', 'print a JSON array')
    .addHelpText(
      'after',
      `
The database writes the history, also of changes that are made by SQL of your own. It is only
ever added to, and never has a secret.

Example: axport integration history BD77VoKUovcSbaUgYJQxPiOm`,
    )
    .action(async (id: string | undefined, { json }: { json?: true }) => {
      const events = await withDatabase(({ sql }) => readHistory(sql, id))
      if (json) {
        await print(`${exactJson(events)}\n`)
        return
      }
      if (events.length === 0) {
        await print('There was no integration yet: axport integration create NAME makes one.\n')
        return
      }
      await printTable(
        ['time', 'client id', 'name', 'event', 'role', 'host', 'what changed'],
        events.map(({ at, client_id, name, event, role, host, changes }) => [
          at,
          client_id,
          name,
          event,
          role,
          host ?? '',
          phrases(changes).join('; '),
        ]),
      )
    })
}
