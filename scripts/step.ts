/** The result of a step of the check, with all of its output. */
interface StepResult {
  name: string
  ok: boolean
  seconds: number
  stdout: string
  stderr: string
}

/**
 * Runs one step of the check in `cwd` to its end, or until `timeout` milliseconds have passed. Steps run at the same
 * time, so their output is collected for print().
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

/** Prints one line for a step, and before that line the output of a failed step. */
export function print({ name, ok, seconds, stdout, stderr }: StepResult): void {
  if (!ok) console.log(`\n${stdout}${stderr}`)
  console.log(`${ok ? 'ok' : 'FAILED'}: ${name}, ${seconds.toFixed(1)} s`)
}
