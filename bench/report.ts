import { cpus, totalmem } from 'node:os'
import { axport } from './executable.ts'
import { SETTINGS } from './own-postgres.ts'
import { type Result, verdict } from './results.ts'
import type { World } from './world.ts'

/** The results, with the machine and the versions of the programs. */
export interface Report {
  records: number
  machine: string
  date: string
  /** The version, the commit and the Bun of the executable. */
  axport: Record<string, unknown>
  /** The same of the earlier executable, if there is one. */
  before?: Record<string, unknown>
  postgres: { version: string; settings: Record<string, string> | 'of its own' }
  rounds: number
  seconds: number
  connections: number
  results: (Result & { reached: string })[]
}

/** Makes the report of the results. */
export async function report(world: World, results: Result[]): Promise<Report> {
  const { rounds, seconds, connections, database } = world.options
  const versionOf = async (executable: string) => JSON.parse(await axport(executable, ['version', '--json']))
  const [row] = await world.sql<{ server_version: string }[]>`show server_version`
  return {
    records: world.records,
    machine: machine(),
    date: new Date().toISOString(),
    axport: await versionOf(world.executable),
    ...(world.before && { before: await versionOf(world.before.executable) }),
    postgres: { version: row?.server_version ?? '', settings: database ? 'of its own' : SETTINGS },
    rounds,
    seconds,
    connections,
    results: results.map(result => ({ ...result, reached: verdict(result) })),
  }
}

function machine(): string {
  const gigabytes = Math.round(totalmem() / 2 ** 30)
  return `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown processor'}, ${gigabytes} GB`
}

/** The lines above the table. */
export function titleOf({ records, machine, axport, before, postgres, date }: Report): string {
  const what = `${records.toLocaleString('en-US')} assessments, axport ${axport.version} ${axport.commit}${
    before ? ` (before: ${before.commit})` : ''
  }`
  return `${what}, Postgres ${postgres.version}, ${machine}, ${date.slice(0, 10)}`
}
