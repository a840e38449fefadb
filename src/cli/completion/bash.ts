import type { Level } from './levels.ts'

/**
 * The path is made of the words that lead from one command to the next; values of options and arguments do
 * not count. Where nothing is offered, readline offers files, by "-o default".
 */
export function bash(levels: Level[]): string {
  return `# bash completion for axport
_axport_at() {
  case "$1" in
${levels.map(line).join('\n')}
    *) return 1 ;;
  esac
}
_axport() {
  local IFS=$' \\t\\n'
  local current="\${COMP_WORDS[COMP_CWORD]}" word where="" below="" flags="" valued="" file=""
  local is_value="" has_argument=""
  _axport_at ""
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ $word == "=" ]]; then
      is_value=1
    elif [[ -n $is_value ]]; then
      is_value=""
    elif [[ $word == -* ]]; then
      if [[ " $valued " == *" $word "* ]]; then is_value=1; fi
    elif _axport_at "\${where:+$where }$word"; then
      where="\${where:+$where }$word"
    else
      has_argument=1
    fi
  done
  if [[ -n $has_argument ]]; then below=""; fi
  COMPREPLY=()
  if [[ -n $is_value || $current == "=" ]]; then return; fi
  if [[ -n $file && -z $has_argument && $current != -* ]]; then return; fi
  COMPREPLY=($(compgen -W "$below $flags" -- "$current"))
}
complete -o default -F _axport axport
`
}

function line({ path, words, options, withValue, takesFile }: Level): string {
  const file = takesFile ? '1' : ''
  return `    "${path}") below="${words.join(' ')}" flags="${options.join(' ')}" valued="${withValue.join(' ')}" file="${file}" ;;`
}
