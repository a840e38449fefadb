import { Command } from 'commander'
import { deleteIntegration, setDisabled } from '../../integrations/lifecycle.ts'
import { escaped, print } from '../output.ts'
import { withDatabase } from '../with-database.ts'

/** axport integration disable ID */
export function disableCommand(): Command {
  return new Command('disable')
    .description('Refuse an integration, its tokens included, until it is enabled again.')
    .argument('<id>', 'its client id')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExample: axport integration disable BD77VoKUovcSbaUgYJQxPiOm')
    .action((id: string, { json }: { json?: true }) => switchState(id, 'disabled', json))
}

/** axport integration enable ID */
export function enableCommand(): Command {
  return new Command('enable')
    .description('Let a disabled integration in again.')
    .argument('<id>', 'its client id')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExample: axport integration enable BD77VoKUovcSbaUgYJQxPiOm')
    .action((id: string, { json }: { json?: true }) => switchState(id, 'enabled', json))
}

/** axport integration delete ID */
export function deleteCommand(): Command {
  return new Command('delete')
    .description('Delete an integration with its secrets and tokens; there is no way back, unlike disable.')
    .argument('<id>', 'its client id')
    .addHelpText('after', '\nExample: axport integration delete BD77VoKUovcSbaUgYJQxPiOm')
    .action(async (id: string) => {
      const name = await withDatabase(({ sql }) => deleteIntegration(sql, id))
      await print(`deleted ${escaped(name)} (${id})\n`)
    })
}

async function switchState(
  id: string,
  state: 'enabled' | 'disabled',
  asJson: true | undefined,
): Promise<void> {
  const changed = await withDatabase(({ sql }) => setDisabled(sql, id, state === 'disabled'))
  const text = `${id} is ${state} ${changed ? 'now' : 'already'}`
  await print(asJson ? `${JSON.stringify({ client_id: id, state, changed })}\n` : `${text}\n`)
}
