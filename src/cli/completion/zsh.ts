import type { Level } from './levels.ts'

/**
 * As the one for bash. zsh loads the file as the body of the function _axport at the first completion, and so
 * it has to call what it has just defined; sourced by hand, it only registers it.
 */
export function zsh(levels: Level[]): string {
  return `#compdef axport
# zsh completion for axport
_axport_at() {
  case "$1" in
${levels.map(line).join('\n')}
    *) return 1 ;;
  esac
}
_axport() {
  local current="\${words[CURRENT]}" word where="" file="" is_value="" has_argument=""
  local -a below flags valued
  _axport_at ""
  for word in "\${(@)words[2,CURRENT-1]}"; do
    if [[ -n $is_value ]]; then
      is_value=""
    elif [[ $word == -* ]]; then
      if (( \${valued[(Ie)$word]} )); then is_value=1; fi
    elif _axport_at "\${where:+$where }$word"; then
      where="\${where:+$where }$word"
    else
      has_argument=1
    fi
  done
  if [[ -n $is_value ]]; then return 1; fi
  if [[ -n $has_argument ]]; then below=(); fi
  if [[ -n $file && -z $has_argument && $current != -* ]]; then
    _files
  else
    compadd -- $below $flags
  fi
}
if [[ $funcstack[1] == _axport ]]; then
  _axport "$@"
else
  compdef _axport axport
fi
`
}

function line({ path, words, options, withValue, takesFile }: Level): string {
  const file = takesFile ? '1' : ''
  return `    "${path}") below=(${words.join(' ')}) flags=(${options.join(' ')}) valued=(${withValue.join(' ')}) file="${file}" ;;`
}
