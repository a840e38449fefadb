import { Argument, Command } from 'commander'
import { print } from './output.ts'

/** For each shell a stub that calls `axport __complete`. Each prints the shell's own files for ":files". */
const STUBS = {
  // Words without a candidate fall back to files, by "-o default".
  bash: `# bash completion for axport
_axport() {
  local IFS=$'\\n'
  COMPREPLY=($("\${COMP_WORDS[0]/#~/$HOME}" __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1))
  if [[ \${COMPREPLY[0]-} == :files ]]; then COMPREPLY=(); fi
}
complete -o default -F _axport axport
`,
  // zsh loads the file as the body of _axport at the first completion; sourced by hand, the file only registers it.
  zsh: `#compdef axport
# zsh completion for axport
_axport() {
  local line
  local -a names shown
  for line in \${(f)"$(\${~words[1]} __complete -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)"}; do
    names+=("\${line%%$'\\t'*}")
    shown+=("\${(r:24:)names[-1]} \${line#*$'\\t'}")
  done
  if [[ \${names[1]-} == :files ]]; then
    _files
  else
    compadd -l -d shown -- $names
  fi
}
if [[ $funcstack[1] == _axport ]]; then
  _axport "$@"
else
  compdef _axport axport
fi
`,
  // fish shows options only where one was begun.
  fish: `# fish completion for axport
function __axport_complete
  set -l current (commandline -ct)
  set -l words (commandline -opc)
  set -l found ($words[1] __complete -- $words[2..-1] "$current" 2>/dev/null)
  if test "$found" = :files
    __fish_complete_path "$current"
  else if string match -q -- '-*' "$current"
    printf '%s\\n' $found
  else
    string match -v -- '-*' $found
  end
end
complete -c axport -f -a '(__axport_complete)'
`,
}

/** axport completion SHELL */
export function completionCommand(): Command {
  return new Command('completion')
    .description('Print a completion script for a shell.')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(STUBS)))
    .addHelpText(
      'after',
      `
The script calls axport for every completion, so it fits every later version too.

Example: axport completion bash > /etc/bash_completion.d/axport
         axport completion zsh  > "\${fpath[1]}/_axport"
         axport completion fish > ~/.config/fish/completions/axport.fish`,
    )
    .action((shell: keyof typeof STUBS) => print(STUBS[shell]))
}

/**
 * axport __complete -- WORD…: a line for each candidate for the last word, as WORD, tab, description; ":files" where a
 * file is wanted. Opens no database and reads no setting.
 */
export function completeCommand(program: Command): Command {
  return new Command('__complete')
    .argument('[words...]')
    .action((words: string[]) => print([...candidates(program, words), ''].join('\n')))
}

function candidates(program: Command, words: string[]): string[] {
  let command = program
  let operands = 0
  let option: Command['options'][number] | undefined
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
