import { Command } from 'commander'
import { createCommand } from './create.ts'
import { deleteCommand } from './delete.ts'
import { describeCommand } from './describe.ts'
import { historyCommand } from './history.ts'
import { listCommand } from './list.ts'
import { rotateCommand } from './rotate.ts'
import { scopeCommand } from './scope.ts'
import { showCommand } from './show.ts'
import { disableCommand, enableCommand } from './state.ts'

/** axport integration … */
export function integrationCommand(): Command {
  const integration = new Command('integration').description(
    'Provision the applications that may read the export.',
  )
  for (const command of [
    createCommand(),
    listCommand(),
    showCommand(),
    describeCommand(),
    scopeCommand(),
    rotateCommand(),
    disableCommand(),
    enableCommand(),
    deleteCommand(),
    historyCommand(),
  ]) {
    integration.addCommand(command)
  }
  return integration.addHelpText(
    'after',
    '\nID is the client id. Changes take effect with the next request, on every running service.\n\nExample: axport integration list',
  )
}
