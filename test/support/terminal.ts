import { emptyFolder, executable } from './executable.ts'
import { until } from './until.ts'

/**
 * Runs `axport ARGS` on a terminal, and types `line` when the command prints `asks`. Returns the exit code and all
 * output of the terminal. The command must print at least one line after `line`, or one if it asks for nothing.
 */
export async function onTerminal(
  args: string[],
  env: Record<string, string>,
  asks?: string,
  line = '',
): Promise<{ code: number; shown: string }> {
  let shown = ''
  let isTyped = false
  await using terminal = new Bun.Terminal({
    cols: 200,
    data(terminal, data) {
      shown += Buffer.from(data).toString()
      if (isTyped || asks === undefined || !shown.includes(asks)) return
      isTyped = true
      terminal.write(`${line}\n`)
    },
  })
  const options = { terminal, env, cwd: emptyFolder() }
  const child = Bun.spawn([await executable(), ...args], options)
  const code = await child.exited
  // The command may end before its last output is read from the terminal.
  const typed = asks === undefined ? '' : `${RegExp.escape(line)}\\r?\\n`
  const isAll = () => new RegExp(`${typed}[^]*\\n$`).test(shown)
  await until('the terminal shows the output after the typed line', isAll)
  return { code, shown: shown.replaceAll('\r', '') }
}
