/** A command of a page, and the output that the page shows for it. */
export interface Typed {
  command: string
  output: string
}

/** The commands in the `console` blocks of a page, in their order: a line that begins with `$ `, then its output. */
export function typedIn(page: string): Typed[] {
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

const MARK = '@@@'

/** Runs commands in one shell, as somebody who types them. Returns what each printed, without the end of its last line. */
export async function typeAll(
  commands: string[],
  options: { cwd: string; env: Record<string, string> },
): Promise<string[]> {
  // A line that ends with & would be empty if the mark followed it.
  const script = commands.flatMap(command => [command, `echo ${MARK}`]).join('\n')
  const shell = Bun.spawn(['bash', '-c', `exec 2>&1\n${script}`], {
    ...options,
    stdin: 'ignore',
    stdout: 'pipe',
  })
  const text = await new Response(shell.stdout).text()
  const outputs = text.split(`${MARK}\n`)
  if (outputs.length !== commands.length + 1)
    throw new Error(`the shell ended after ${outputs.length - 1} commands: ${text.slice(-500)}`)
  return outputs.slice(0, -1).map(output => output.trimEnd())
}

/** A pattern of an output in which `…` stands for anything on a line, and a line of `…` alone for any lines. The output ends with \n. */
export function patternOf(output: string): RegExp {
  const lines = output
    .split('\n')
    .map(line => (line === '…' ? '(?:.*\\n)*' : `${line.split('…').map(literal).join('.*')}\n`))
  return new RegExp(`^${lines.join('')}$`)
}

const literal = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
