# bash completion for axport
_axport() {
  local IFS=$'\n'
  COMPREPLY=($("${COMP_WORDS[0]/#~/$HOME}" __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1))
  if [[ ${COMPREPLY[0]-} == :files ]]; then COMPREPLY=(); fi
}
# Words without a candidate fall back to files, by -o default.
complete -o default -F _axport axport
