#compdef axport
# zsh completion for axport
_axport() {
  local line
  local -a names shown
  for line in ${(f)"$(${~words[1]} __complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)"}; do
    names+=("${line%%$'\t'*}")
    shown+=("${(r:24:)names[-1]} ${line#*$'\t'}")
  done
  if [[ ${names[1]-} == :files ]]; then
    _files
  else
    compadd -l -d shown -- $names
  fi
}
# zsh loads this file as the body of _axport at the first completion; sourced by hand, the file only registers it.
if [[ $funcstack[1] == _axport ]]; then
  _axport "$@"
else
  compdef _axport axport
fi
