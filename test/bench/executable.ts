import { join } from 'node:path'

/** The one at AXPORT_EXECUTABLE, or dist/axport, built now. */
export async function builtExecutable(): Promise<string> {
  if (process.env.AXPORT_EXECUTABLE) return process.env.AXPORT_EXECUTABLE
  const outfile = join(import.meta.dir, '..', '..', 'dist', 'axport')
  const build = Bun.spawn(
    [process.execPath, join(import.meta.dir, '..', '..', 'scripts', 'build.ts'), '--outfile', outfile],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  )
  if ((await build.exited) !== 0) throw new Error('the executable can not be built')
  return outfile
}

/** Runs a command of the executable to its end and returns its standard output. */
export async function axport(
  executable: string,
  args: string[],
  env: Record<string, string> = {},
): Promise<string> {
  const child = Bun.spawn([executable, ...args], { env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  if ((await child.exited) !== 0) throw new Error(`axport ${args[0]} failed: ${stderr.trim()}`)
  return stdout
}

/** Makes sample data; returns the file's path. */
export async function writeSample(executable: string, records: number, folder: string): Promise<string> {
  const file = join(folder, `sample-${records}.ndjson`)
  const sample = Bun.spawn([executable, 'sample', String(records)], {
    env: {},
    stdio: ['ignore', Bun.file(file), 'inherit'],
  })
  if ((await sample.exited) !== 0) throw new Error('axport sample failed')
  return file
}

/** How an import went. */
export interface Imported {
  seconds: number
  /** MB of memory at most. */
  peak: number
}

/** Imports a file. */
export async function timedImport(executable: string, databaseUrl: string, file: string): Promise<Imported> {
  const start = performance.now()
  const child = Bun.spawn([executable, 'import', file], {
    env: { DATABASE_URL: databaseUrl },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const complaint = await new Response(child.stderr).text()
  if ((await child.exited) !== 0) throw new Error(`axport import failed: ${complaint.trim()}`)
  const bytes = child.resourceUsage()?.maxRSS ?? Number.NaN
  return { seconds: (performance.now() - start) / 1000, peak: bytes / 1024 / 1024 }
}
