import { readFileSync } from 'node:fs'
import { join } from 'node:path'

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
  { env = {}, stdin = '' }: { env?: Record<string, string>; stdin?: string } = {},
): Promise<Ended> {
  const start = performance.now()
  const child = Bun.spawn(command, { env, stdin: new Blob([stdin]), stdout: 'pipe', stderr: 'pipe' })
  // The kernel counts the memory of this process to that of its children until they begin to run.
  let peak = Number.NaN
  const looking = setInterval(() => {
    peak = peakOf(child.pid) ?? peak
  }, 50)
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()])
  clearInterval(looking)
  if ((await child.exited) !== 0) throw new Error(`${command.slice(0, 2).join(' ')} failed: ${stderr.trim()}`)
  const seconds = (performance.now() - start) / 1000
  return { stdout, seconds, peak }
}

/** The peak memory of a process in MB, so far; undefined when it has ended, whether it was waited for or not. */
function peakOf(pid: number): number | undefined {
  try {
    const [, kilobytes] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return kilobytes === undefined ? undefined : Number(kilobytes) / 1024
  } catch {
    return undefined
  }
}

/** Writes sample data to a file and returns its path. The end line is left out, so that the file can be split. */
export async function writeSample(executable: string, records: number, folder: string): Promise<string> {
  const file = join(folder, `sample-${records}.ndjson`)
  await runProgram(['/bin/sh', '-c', '"$0" sample "$1" | sed \\$d >"$2"', executable, String(records), file])
  return file
}

/** Imports a file. */
export function timedImport(executable: string, databaseUrl: string, file: string): Promise<Ended> {
  return runProgram([executable, 'import', file], { env: { DATABASE_URL: databaseUrl } })
}
