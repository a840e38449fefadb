# fish completion for axport
function __axport_complete
  set -l current (commandline -ct)
  set -l words (commandline -opc)
  set -l found ($words[1] __complete -- $words[2..-1] "$current" 2>/dev/null)
  if test "$found" = :files
    __fish_complete_path "$current"
  # Options are shown only where one was begun.
  else if string match -q -- '-*' "$current"
    printf '%s\n' $found
  else
    string match -v -- '-*' $found
  end
end
complete -c axport -f -a '(__axport_complete)'
