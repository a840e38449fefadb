import { Command } from 'commander'
import { deleteIntegration, setDisabled } from '../../integrations/lifecycle.ts'
import { escaped, print } from '../output.ts'
import { changing, waitOption } from './standbys.ts'

interface Options {
  json?: true
  wait: number
}

/** axport integration disable ID */
export function disableCommand(): Command {
  return new Command('disable')
    .description('Refuse an integration, its tokens included, until it is enabled again.')
    .argument('<id>', 'its client id')
    .addOption(waitOption())
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExample: axport integration disable BD77VoKUovcSbaUgYJQxPiOm')
    .action((id: string, options: Options) => switchState(id, 'disabled', options))
}

/** axport integration enable ID */
export function enableCommand(): Command {
  return new Command('enable')
    .description('Let a disabled integration in again.')
    .argument('<id>', 'its client id')
    .addOption(waitOption())
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExample: axport integration enable BD77VoKUovcSbaUgYJQxPiOm')
    .action((id: string, options: Options) => switchState(id, 'enabled', options))
}

/** axport integration delete ID */
export function deleteCommand(): Command {
  return new Command('delete')
    .description('Delete an integration with its secrets and tokens; there is no way back, unlike disable.')
    .argument('<id>', 'its client id')
    .addOption(waitOption())
    .addHelpText('after', '\nExample: axport integration delete BD77VoKUovcSbaUgYJQxPiOm')
    .action(async (id: string, { wait }: Options) => {
      await changing(
        wait,
        sql => deleteIntegration(sql, id),
        name => print(`deleted ${escaped(name)} (${id})\n`),
      )
    })
}

async function switchState(
  id: string,
  state: 'enabled' | 'disabled',
  { json, wait }: Options,
): Promise<void> {
  await changing(
    wait,
    sql => setDisabled(sql, id, state === 'disabled'),
    changed => {
      const text = `${id} is ${state} ${changed ? 'now' : 'already'}`
      return print(json ? `${JSON.stringify({ client_id: id, state, changed })}\n` : `${text}\n`)
    },
  )
}
