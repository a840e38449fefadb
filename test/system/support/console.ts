import { expect } from 'bun:test'

/** A command of a page, and the output that the page shows for it. */
interface Typed {
  command: string
  output: string
}

/**
 * The commands in the `console` blocks of a page, in their order: a line that begins with `$ `, then its output. A command
 * that goes on until Ctrl-C has the line `^C` at the end of its output, as on a terminal.
 */
function typedIn(page: string): Typed[] {
  return [...page.matchAll(/^```console\n([\s\S]*?)^```$/gm)].flatMap(([, block = '']) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map(text => {
        const [command = '', ...lines] = text.trimEnd().split('\n')
        return { command, output: lines.join('\n') }
      }),
  )
}

interface TypingOptions {
  cwd?: string
  env?: NodeJS.ProcessEnv
  /** The command that starts the shell, if it is not this machine's bash. */
  shell?: string[]
}

/** Types the commands of a page, and expects of each the output that the page shows. Returns how many there were. */
export async function expectTyped(page: string, options: TypingOptions): Promise<number> {
  const typed = typedIn(page)
  const outputs = await typeAll(typed, options)
  const others = typed.flatMap(({ command, output }, at) => {
    const printed = outputs[at] as string
    return patternOf(output).test(`${printed}\n`) ? [] : [{ command, output, printed }]
  })
  expect(others).toEqual([])
  return typed.length
}

const MARK = '@@@'

/** What is typed for a command. One that goes on is interrupted when it has printed the last line before `^C`. */
function lineOf({ command, output }: Typed): string {
  if (!output.endsWith('\n^C')) return command
  const last = output.split('\n').at(-2) as string
  const shown = `until grep -qxF ${JSON.stringify(last)} .shown; do sleep 0.1; done`
  return `: > .shown; ${command} > .shown & ${shown}; kill -INT $!; wait $!; sed '/^${last}$/q' .shown; echo '^C'`
}

/** Runs commands in one shell, as somebody who types them. Returns what each printed, without the end of its last line. */
async function typeAll(
  commands: Typed[],
  { shell = ['bash'], env = process.env, ...options }: TypingOptions,
): Promise<string[]> {
  // A line that ends with & would be empty if the mark followed it.
  const script = commands.flatMap(typed => [lineOf(typed), `echo ${MARK}`]).join('\n')
  const running = Bun.spawn([...shell, '-c', `exec 2>&1\n${script}`], {
    ...options,
    env,
    stdin: 'ignore',
    stdout: 'pipe',
  })
  const text = await new Response(running.stdout).text()
  const outputs = text.split(`${MARK}\n`)
  if (outputs.length !== commands.length + 1)
    throw new Error(`the shell ended after ${outputs.length - 1} commands: ${text.slice(-500)}`)
  return outputs.slice(0, -1).map(output => output.trimEnd())
}

/**
 * A pattern of an output in which `…`, with the spaces after it, stands for anything on a line, and a line of `…` alone for
 * any lines. The output ends with \n.
 */
function patternOf(output: string): RegExp {
  const lines = output
    .split('\n')
    .map(line => (line === '…' ? '(?:.*\\n)*' : `${line.split(/… */).map(literal).join('.*')}\n`))
  return new RegExp(`^${lines.join('')}$`)
}

const literal = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
