import type { Level } from './levels.ts'

/** A condition for every word: fish knows no commands of commands. Files are offered where one is taken. */
export function fish(levels: Level[]): string {
  const paths = levels.map(({ path }) => `'${path}'`)
  const valued = levels.flatMap(({ path, withValue }) => withValue.map(option => `'${path} ${option}'`))
  return `# fish completion for axport
set -g __axport_paths ${paths.join(' ')}
set -g __axport_valued ${valued.join(' ')}
function __axport_at
  set -l path ''
  set -l is_value no
  for word in (commandline -opc)[2..-1]
    set -l next (string trim -- "$path $word")
    if test $is_value = yes
      set is_value no
    else if contains -- "$path $word" $__axport_valued
      set is_value yes
    else if contains -- "$next" $__axport_paths
      set path "$next"
    end
  end
  test "$path" = "$argv[1]"
end
complete -c axport -f
${levels.flatMap(lines).join('\n')}
`
}

function lines({ path, words, options, withValue, takesFile }: Level): string[] {
  const start = `complete -c axport -n "__axport_at '${path}'"`
  return [
    ...words.map(word => `${start} -a ${word}`),
    ...options.map(option => `${start} -l ${option.slice(2)}${withValue.includes(option) ? ' -x' : ''}`),
    ...(takesFile ? [`${start} -F`] : []),
  ]
}
