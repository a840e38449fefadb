import { emptyFolder, executable } from './executable.ts'

/**
 * Runs `axport ARGS` on a terminal, and types a line when it asks for one. Returns its exit code and all that the terminal
 * showed.
 */
export async function onTerminal(
  args: string[],
  env: Record<string, string>,
  asks: string,
  line: string,
): Promise<{ code: number; shown: string }> {
  let shown = ''
  let isTyped = false
  await using terminal = new Bun.Terminal({
    cols: 200,
    data(terminal, data) {
      shown += Buffer.from(data).toString()
      if (isTyped || !shown.includes(asks)) return
      isTyped = true
      terminal.write(`${line}\n`)
    },
  })
  const child = Bun.spawn([await executable(), ...args], { terminal, env, cwd: emptyFolder() })
  return { code: await child.exited, shown: shown.replaceAll('\r', '') }
}
