import { Argument, Command } from 'commander'
import { bash } from './completion/bash.ts'
import { fish } from './completion/fish.ts'
import { levels } from './completion/levels.ts'
import { zsh } from './completion/zsh.ts'
import { print } from './output.ts'

const SCRIPTS = { bash, zsh, fish }

/** axport completion SHELL; `program` is asked for the commands when the command runs, not before. */
export function completionCommand(program: Command): Command {
  return new Command('completion')
    .description('Print a completion script for a shell.')
    .addArgument(new Argument('<shell>', 'which shell').choices(Object.keys(SCRIPTS)))
    .addHelpText(
      'after',
      `
Example: axport completion bash > /etc/bash_completion.d/axport
         axport completion zsh  > "\${fpath[1]}/_axport"
         axport completion fish > ~/.config/fish/completions/axport.fish`,
    )
    .action((shell: keyof typeof SCRIPTS) => print(SCRIPTS[shell](levels(program))))
}
