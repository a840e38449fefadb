/** The result of a program. */
export interface Ended {
  stdout: string
  seconds: number
  /** The peak memory in MB. */
  peak: number
}

/**
 * Runs a program to its end; throws with its standard error if the program fails. `env` is the whole environment of the
 * program.
 */
export async function runProgram(
  command: string[],
  { env = {}, stdin = '' }: { env?: Record<string, string | undefined>; stdin?: string } = {},
): Promise<Ended> {
  const start = performance.now()
  const child = Bun.spawn(command, { env, stdin: new Blob([stdin]), stdout: 'pipe', stderr: 'pipe' })
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()])
  if ((await child.exited) !== 0) throw new Error(`${command.slice(0, 2).join(' ')} failed: ${stderr.trim()}`)
  const seconds = (performance.now() - start) / 1000
  return { stdout, seconds, peak: (child.resourceUsage()?.maxRSS ?? Number.NaN) / 1024 / 1024 }
}
