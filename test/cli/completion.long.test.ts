import { afterAll, beforeAll, describe, expect } from 'bun:test'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type CommandLevel, commandTree } from '../support/command-tree.ts'
import { axport, cleanUp, emptyFolder, executable } from '../support/executable.ts'
import { program, requires } from '../support/requires.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof SHELLS)[number]

let folder: string
let tree: CommandLevel[]
const scripts = {} as Record<Shell, string>

beforeAll(async () => {
  folder = emptyFolder()
  tree = await commandTree()
  mkdirSync(join(folder, 'bin'))
  symlinkSync(await executable(), join(folder, 'bin', 'axport'))
  for (const shell of SHELLS) {
    const { code, stdout, stderr } = await axport(['completion', shell])
    if (code !== 0 || stderr !== '') throw new Error(stderr)
    scripts[shell] = stdout
    writeFileSync(file(shell), stdout)
  }
})
afterAll(cleanUp)

/** The path of a shell's script. zsh finds functions by the names of their files. */
function file(shell: Shell): string {
  const place = join(folder, shell)
  mkdirSync(place, { recursive: true })
  return join(place, '_axport')
}

async function run(command: string[]): Promise<string> {
  // The folder is empty, so that no shell offers files.
  const child = Bun.spawn(command, {
    cwd: emptyFolder(),
    env: { PATH: `${join(folder, 'bin')}:${process.env.PATH}`, HOME: folder },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()])
  if ((await child.exited) !== 0 || stderr !== '') throw new Error(`${command[0]}: ${stderr}`)
  return stdout
}

/**
 * For each shell, code that loads the script as users do, and a function `ask` that prints one offered word a
 * line, in zsh and fish with a tab and the description.
 */
const HARNESS: Record<Shell, string> = {
  bash: `
    source "$1"
    ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _axport; printf '%s\\n' "\${COMPREPLY[@]}"; }`,
  // The functions of zsh's completion system are replaced by functions that print their arguments.
  zsh: `
    fpath=("\${1:h}" $fpath)
    compdef() { }
    compadd() {
      local display=\${@[\${@[(i)-d]} + 1]} i
      shift \${@[(i)--]}
      for i in {1..$#}; do print -r -- "$@[i]"$'\\t'"\${\${(P)display}[i]}"; done
    }
    _files() { print -r -- '(files)' }
    autoload -Uz _axport
    ask() { words=("$@"); CURRENT=$#; _axport }`,
  fish: `
    source "$argv[1]"
    function ask; complete -C (string join ' ' -- $argv); true; end`,
}

/** The output of a shell for each of these command lines. The last word of a line is being typed. */
async function shownFrom(shell: Shell, lines: string[][]): Promise<string[][]> {
  const quote = (word: string) => `'${word}'`
  const asks = lines.map(words => `ask axport ${words.map(quote).join(' ')}; echo '(end)'`)
  const script = `${HARNESS[shell]}\n${asks.join('\n')}\n`
  const options = { bash: ['--norc', '-c'], zsh: ['-f', '-c'], fish: ['--no-config', '-c'] }[shell]
  const name = shell === 'fish' ? [] : [shell]
  const output = await run([shell, ...options, script, ...name, file(shell)])
  return output
    .split('(end)\n')
    .slice(0, -1)
    .map(text => text.split('\n').filter(line => line !== ''))
}

/** The offered words for each of these command lines. */
async function offeredFrom(shell: Shell, lines: string[][]): Promise<string[][]> {
  const shown = await shownFrom(shell, lines)
  return shown.map(found => found.map(line => line.split('\t')[0] as string))
}

/**
 * The same after a first completion, in which zsh only loads the script. Another test covers the first
 * completion.
 */
async function offers(shell: Shell, lines: string[][]): Promise<string[][]> {
  return (await offeredFrom(shell, [[''], ...lines])).slice(1)
}

const allWords = ({ commands, options, choices }: CommandLevel) => [...commands, ...options, ...choices]
const sorted = (words: string[]) => [...words].sort()

describe.each([...SHELLS])('the completion for %s', shell => {
  const inShell = requires(program(shell)).test

  /** Fish offers options only after a dash; the other shells offer everything. */
  const expected = (level: CommandLevel, word: '' | '--') => {
    if (word === '--') return sorted(level.options)
    return sorted(shell === 'fish' ? [...level.commands, ...level.choices] : allWords(level))
  }
  const all = async (lines: string[][]) =>
    (await offers(shell, lines)).map(found => sorted(found.filter(word => word !== '(files)')))

  inShell('has no error of syntax', async () => {
    expect(await run([shell, '-n', file(shell)])).toBe('')
  })

  inShell('offers the commands of every level', async () => {
    const levels = tree.filter(level => level.commands.length > 0 || level.choices.length > 0)
    expect(await all(levels.map(({ path }) => [...path, '']))).toEqual(
      levels.map(level => expected(level, '')),
    )
  })

  inShell('offers the options of every level', async () => {
    const found = await all(tree.map(({ path }) => [...path, '--']))
    expect(found).toEqual(tree.map(level => expected(level, '--')))
  })

  inShell('offers the other options after an argument, and after the value of an option', async () => {
    const cases = tree.flatMap(level => [
      ...(level.hasArgument && level.choices.length === 0 ? [{ level, before: ['argument'] }] : []),
      ...level.withValue.map(option => ({ level, before: [option, 'value'] })),
    ])
    expect(cases.map(({ level }) => level.path.at(-1))).toContain('rotate')
    // The executable finds the words for every shell alike, so that each case is asked in one of them.
    const own = cases.filter((_, index) => index % SHELLS.length === SHELLS.indexOf(shell))
    const found = await all(own.map(({ level, before }) => [...level.path, ...before, '--']))
    for (const [index, { level, before }] of own.entries())
      expect({ path: level.path, before, found: found[index] }).toEqual({
        path: level.path,
        before,
        found: expect.arrayContaining(level.options.filter(option => !before.includes(option))),
      })
  })

  if (shell !== 'bash')
    inShell('describes commands and options', async () => {
      const [commands, options] = await shownFrom(shell, [
        ['integration', 'rota'],
        ['restore', '--che'],
      ])
      expect(commands).toEqual([expect.stringMatching(/^rotate\t.*Replace the secret\./)])
      expect(options).toEqual([expect.stringMatching(/^--check\t.*only check/)])
    })

  inShell('offers something from the first time on', async () => {
    const [found] = await offeredFrom(shell, [['integr']])
    expect(found).toContain('integration')
  })

  inShell('leaves the file of axport import to the shell', async () => {
    const [found = []] = await offers(shell, [['import', 'exp']])
    // zsh needs a function that asks for files, and filters the words itself. bash and fish complete files if
    // no word matches.
    if (shell === 'zsh') expect(found).toContain('(files)')
    else expect(found).toEqual([])
    if (shell === 'bash') expect(scripts.bash).toMatch(/^complete -o (bash)?default /m)
  })
})
