import { Argument, Command, type CommandUnknownOpts } from '@commander-js/extra-typings'
import { newCommand } from './arguments.ts'
import bash from './completion.bash' with { type: 'text' }
import fish from './completion.fish' with { type: 'text' }
import zsh from './completion.zsh' with { type: 'text' }
import { print } from './output.ts'

/** For each shell a stub that calls `axport __complete`. Each prints the shell's own files for ":files". */
const STUBS = { bash, zsh, fish }

/** axport completion SHELL */
export const completionCommand = () =>
  newCommand(
    'completion',
    'Print a completion script for a shell.',
    `The script calls axport for every completion, so it fits every later version too.

Example: axport completion bash > /etc/bash_completion.d/axport
         axport completion zsh  > "\${fpath[1]}/_axport"
         axport completion fish > ~/.config/fish/completions/axport.fish`,
  )
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .action(shell => print(STUBS[shell]))

/** axport __complete -- WORD…: a line for each candidate (word, tab, description), or ":files". Reads no setting. */
export function completeCommand(program: CommandUnknownOpts) {
  return new Command('__complete')
    .argument('[words...]')
    .action(words => print([...candidates(program, words), ''].join('\n')))
}

function candidates(program: CommandUnknownOpts, words: string[]): string[] {
  let command = program
  let operands = 0
  let option: CommandUnknownOpts['options'][number] | undefined
  // bash makes a word of the "=" in --option=value.
  for (const word of words.slice(0, -1).filter(word => word !== '=')) {
    if (option) option = undefined
    else if (word.startsWith('-')) option = command.options.find(each => each.required && each.long === word)
    else {
      const child = operands === 0 && command.commands.find(each => each.name() === word)
      if (child) command = child
      else operands++
    }
  }
  const current = words.at(-1) ?? ''
  const argument = command.registeredArguments[operands]
  if (option) return /<(file|dir)>/.test(option.flags) ? [':files'] : []
  if (argument?.name() === 'file' && !current.startsWith('-')) return [':files']
  const help = command.createHelp()
  const children = operands > 0 ? [] : help.visibleCommands(command)
  const found = [
    ...children.map(child => [child.name(), child.description()]),
    ...(argument?.argChoices ?? []).map(choice => [choice, argument?.description]),
    ...help.visibleOptions(command).map(each => [each.long, each.description]),
  ]
  return found.filter(([word]) => word?.startsWith(current)).map(pair => pair.join('\t'))
}
