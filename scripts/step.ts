/** How a step of the check went, and all that it printed. */
export interface StepResult {
  name: string
  ok: boolean
  seconds: number
  stdout: string
  stderr: string
}

/**
 * Runs one step of the check in `cwd` to its end, or until `timeout` milliseconds have passed. Steps run side by side,
 * so that the output is held back; `print` shows it.
 */
export async function runStep(
  name: string,
  command: string[],
  { cwd, timeout }: { cwd: string; timeout?: number },
): Promise<StepResult> {
  const start = performance.now()
  const run = Bun.spawn(command, { cwd, stdio: ['ignore', 'pipe', 'pipe'], ...(timeout && { timeout }) })
  const [stdout, stderr, code] = await Promise.all([
    new Response(run.stdout).text(),
    new Response(run.stderr).text(),
    run.exited,
  ])
  return { name, ok: code === 0, seconds: (performance.now() - start) / 1000, stdout, stderr }
}

/** One line for a step that went well, and all of its output before that line for one that did not. */
export function print({ name, ok, seconds, stdout, stderr }: StepResult): void {
  if (!ok) console.log(`\n${stdout}${stderr}`)
  console.log(`${ok ? 'ok' : 'FAILED'}: ${name}, ${seconds.toFixed(1)} s`)
}
