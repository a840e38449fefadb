import { join } from 'node:path'
import { type Ended, runProgram } from './program.ts'

/** Runs a command of the executable to its end and returns its standard output. */
export async function axport(
  executable: string,
  args: string[],
  env: Record<string, string> = {},
): Promise<string> {
  return (await runProgram([executable, ...args], { env })).stdout
}

/** Writes sample data to a file and returns its path. The end line is left out, because older executables reject it. */
export async function writeSample(executable: string, records: number, folder: string): Promise<string> {
  const file = join(folder, `sample-${records}.ndjson`)
  await runProgram(['/bin/sh', '-c', '"$0" sample "$1" | sed \\$d >"$2"', executable, String(records), file])
  return file
}

/** Imports a file. */
export function timedImport(executable: string, databaseUrl: string, file: string): Promise<Ended> {
  return runProgram([executable, 'import', file], { env: { DATABASE_URL: databaseUrl } })
}
