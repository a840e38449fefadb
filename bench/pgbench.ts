import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { runProgram } from './program.ts'
import type { Result } from './results.ts'
import { compare } from './rounds.ts'
import type { World } from './world.ts'

const INSTALLED = '/usr/lib/postgresql'

/** A hint on how to install pgbench; undefined if it is installed. */
export function missingPgbench(): string | undefined {
  if (pgbench()) return undefined
  return 'pgbench not found, so its limits are left out: apt-get install postgresql (Debian, Ubuntu) or brew install postgresql@18, and put its bin folder on PATH'
}

/** The path of pgbench, on PATH or in Debian's folders; undefined if it is not installed. */
function pgbench(): string | undefined {
  const onPath = Bun.which('pgbench')
  if (onPath) return onPath
  let versions: string[] = []
  try {
    versions = readdirSync(INSTALLED).sort((a, b) => Number(b) - Number(a))
  } catch {
    // The folder does not exist on systems other than Debian.
  }
  return versions
    .map(version => join(INSTALLED, version, 'bin', 'pgbench'))
    .find(path => Bun.which(path) !== null)
}

/** A prepared statement for pgbench, with `:name` for a value, though not at its very end. */
export interface Statement {
  text: string
  values?: Record<string, string>
}

/**
 * A function that runs a statement over and over, with as many connections as the load, for the seconds of one
 * measurement, and returns the executions a second. undefined without pgbench.
 */
export function rateOf(world: World, statement: Statement): (() => Promise<number>) | undefined {
  const { connections, seconds } = world.options
  // pgbench accepts only whole seconds, and at least one.
  const duration = Math.max(1, Math.round(seconds))
  return runsOf(world, statement, ['-c', String(connections), '-j', '2', '-T', String(duration)])
}

/**
 * A function that runs a statement `count` times in one connection, and returns the seconds. undefined without pgbench.
 * `\aset` at the end of the statement keeps the columns of its last row as values for the next execution.
 */
export function secondsOf(
  world: World,
  statement: Statement,
  count: number,
): (() => Promise<number>) | undefined {
  const runs = runsOf(world, statement, ['-c', '1', '-t', String(count)])
  return runs && (async () => count / (await runs()))
}

/** Compares a rate of the service with the rate of a statement in pgbench. */
export async function compareWithPgbench(
  world: World,
  statement: Statement,
  rate: () => Promise<number>,
): Promise<Omit<Result, 'measure'>> {
  const limit = rateOf(world, statement)
  return { ...(await compare(world.options.rounds, rate, limit)), ...BESIDE_PGBENCH, unit: '/s' }
}

/** How a result names the limit that is measured by pgbench. */
export const BESIDE_PGBENCH = {
  beside: 'pgbench',
  ...(!pgbench() && { note: 'no limit: pgbench not found' }),
}

/** A function that runs a statement, and returns the executions a second without the time of connecting. */
function runsOf({ databaseUrl }: World, { text, values = {} }: Statement, amount: string[]) {
  const command = pgbench()
  if (command === undefined) return undefined
  const definitions = Object.entries(values).flatMap(([name, value]) => ['-D', `${name}=${value}`])
  const options = ['-n', '-M', 'prepared', ...amount, ...definitions, '-f', '-', databaseUrl]
  return async () => {
    const { stdout } = await runProgram([command, ...options], { env: process.env, stdin: `${text}\n` })
    const perSecond = /tps = ([\d.]+)/.exec(stdout)?.[1]
    if (perSecond === undefined) throw new Error(`pgbench printed no rate: ${stdout}`)
    return Number(perSecond)
  }
}
