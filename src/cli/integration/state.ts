import { Command } from 'commander'
import { setDisabled } from '../../integrations/lifecycle.ts'
import { print } from '../output.ts'
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
