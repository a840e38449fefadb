import { Argument, Command } from 'commander'
import { print } from './output.ts'

/** For each shell a stub that calls `axport __complete`. Each prints the shell's own files for ":files". */
const STUBS = {
  // Words without a candidate fall back to files, by "-o default".
  bash: `# bash completion for axport
_axport() {
  local IFS=$'\\n'
  COMPREPLY=($(axport __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1))
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
  for line in \${(f)"$(axport __complete -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)"}; do
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
  set -l found (axport __complete -- (commandline -opc)[2..-1] "$current" 2>/dev/null)
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
  return new Command('__complete').argument('[words...]').action((words: string[]) =>
    print(
      candidates(program, words)
        .map(line => `${line}\n`)
        .join(''),
    ),
  )
}

function candidates(program: Command, words: string[]): string[] {
  const { command, operands, isValue, isFile } = position(program, words.slice(0, -1))
  const current = words.at(-1) ?? ''
  if (isFile && (isValue || !current.startsWith('-'))) return [':files']
  if (isValue) return []
  const help = command.createHelp()
  const below = operands > 0 ? [] : help.visibleCommands(command)
  const argument = command.registeredArguments[operands]
  const found = [
    ...below.map(child => [child.name(), child.description()]),
    ...(argument?.argChoices ?? []).map(choice => [choice, argument?.description]),
    ...help.visibleOptions(command).map(option => [option.long, option.description]),
  ]
  return found.filter(([word]) => word?.startsWith(current)).map(pair => pair.join('\t'))
}

interface Position {
  command: Command
  /** How many arguments of the command were given. */
  operands: number
  /** Whether the next word is the value of an option. */
  isValue: boolean
  /** Whether the next word, if no option, names a file or a folder. */
  isFile: boolean
}

/** Where the words lead on the command line. */
function position(program: Command, words: string[]): Position {
  let command = program
  let operands = 0
  let option: Command['options'][number] | undefined
  // bash makes a word of the "=" in --option=value.
  for (const word of words.filter(word => word !== '=')) {
    if (option) option = undefined
    else if (word.startsWith('-')) option = command.options.find(each => each.required && each.long === word)
    else {
      const child = operands === 0 && command.commands.find(each => each.name() === word)
      if (child) command = child
      else operands++
    }
  }
  const isValue = option !== undefined
  const argument = command.registeredArguments[operands]
  const isFile = option ? /<(file|dir)>/.test(option.flags) : argument?.name() === 'file'
  return { command, operands, isValue, isFile }
}
