import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { runProgram } from './program.ts'
import type { Result } from './results.ts'
import { compare } from './rounds.ts'
import type { World } from './world.ts'

const INSTALLED = '/usr/lib/postgresql'

/** A hint on how to install missing programs; undefined if none is missing. */
export function missingPrograms(): string | undefined {
  const missing = (['pgbench', 'psql'] as const).filter(name => !program(name))
  if (missing.length === 0) return undefined
  return `${missing.join(' and ')} not found, so the limits are left out: apt-get install postgresql (Debian, Ubuntu) or brew install postgresql@18, and put its bin folder on PATH`
}

/** The path of a client program of Postgres, on PATH or in Debian's folders; undefined if it is not installed. */
function program(name: 'pgbench' | 'psql'): string | undefined {
  const onPath = Bun.which(name)
  if (onPath) return onPath
  let versions: string[] = []
  try {
    versions = readdirSync(INSTALLED).sort((a, b) => Number(b) - Number(a))
  } catch {
    // The folder does not exist on systems other than Debian.
  }
  return versions.map(version => join(INSTALLED, version, 'bin', name)).find(path => Bun.which(path) !== null)
}

/** A statement for pgbench, with `:name` for a value. */
export interface Statement {
  text: string
  values?: Record<string, string>
  /** The target ratio. */
  aim: number
}

/**
 * Compares a rate of the service with the rate of a statement that pgbench runs over and over as a prepared statement.
 * pgbench accepts only whole seconds, and at least one.
 */
export async function compareWithPgbench(
  { databaseUrl, options: { rounds, connections, seconds } }: World,
  { text, values = {}, aim }: Statement,
  rate: () => Promise<number>,
): Promise<Omit<Result, 'measure'>> {
  const command = program('pgbench')
  const definitions = Object.entries(values).flatMap(([name, value]) => ['-D', `${name}=${value}`])
  const amount = ['-c', String(connections), '-j', '2', '-T', String(Math.max(1, Math.round(seconds)))]
  const limit = async () => {
    const options = ['-n', '-M', 'prepared', ...amount, ...definitions, '-f', '-', databaseUrl]
    // pgbench does not replace a variable at the very end of a script.
    const { stdout } = await runProgram([command as string, ...options], {
      env: process.env,
      stdin: `${text}\n`,
    })
    const perSecond = /tps = ([\d.]+)/.exec(stdout)?.[1]
    if (perSecond === undefined) throw new Error(`pgbench printed no rate: ${stdout}`)
    return Number(perSecond)
  }
  const figures = await compare(rounds, rate, command === undefined ? undefined : limit)
  const note = command === undefined ? 'no limit: pgbench not found' : `aim: ${aim}`
  return { ...figures, unit: '/s', beside: 'pgbench', note }
}

/** A function that runs COPY of a `select` to /dev/null and returns the seconds; undefined without psql. */
export function copy(url: string, select: string): (() => Promise<number>) | undefined {
  const command = program('psql')
  if (!command) return undefined
  const options = ['-X', '-q', '-c', `copy (${select}) to stdout`, '-o', '/dev/null', url]
  return async () => (await runProgram([command, ...options], { env: process.env })).seconds
}
