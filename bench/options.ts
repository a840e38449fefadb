import { parseArgs } from 'node:util'

/** The options of the benchmark. */
export interface Options {
  records: number
  /** Seconds of one measurement under load. */
  seconds: number
  /** The number of rounds, whose median is the result. */
  rounds: number
  /** The number of connections of the load, and of pgbench. */
  connections: number
  /** Names of measures; empty for all. */
  only: string[]
  /** The path of a file for the results as JSON. */
  out: string | undefined
  /** The URL of a database with imported data; without it, the benchmark creates and removes one. */
  database: string | undefined
  /** The major version of the Postgres to start; by default the Postgres of npm. */
  postgres: number | undefined
  /** The path of an earlier executable, which is measured in turns with the present one. */
  before: string | undefined
}

export const USAGE = `Usage: bun run bench [options]
  --records N      10000, 100000 (default), 1000000, 10000000, or any other number of assessments
  --only NAME      one measure; may be repeated
  --out FILE       write the results as JSON
  --seconds S      length of one measurement under load (default 3)
  --rounds R       number of rounds; the median is the result (default 5)
  --database URL   use a database with imported data instead of starting a Postgres and importing
  --postgres N     start Debian's Postgres N instead of the Postgres of the tests
  --before FILE    an earlier axport executable, which is measured in turns with the present one`

/**
 * Reads the arguments of `bun run bench`.
 * @throws Error with a one-line message for the user
 */
export function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      records: { type: 'string', default: '100000' },
      only: { type: 'string', multiple: true, default: [] },
      out: { type: 'string' },
      seconds: { type: 'string', default: '3' },
      rounds: { type: 'string', default: '5' },
      database: { type: 'string' },
      postgres: { type: 'string' },
      before: { type: 'string' },
    },
  })
  if (values.before !== undefined && values.database !== undefined)
    throw new Error('--before needs a database of its own: leave out --database')
  return {
    // Fewer than 1,000 records are too few pages for a walk.
    records: numberOf('records', values.records, 1000),
    seconds: numberOf('seconds', values.seconds, 0.1),
    rounds: numberOf('rounds', values.rounds, 1),
    connections: 8,
    only: values.only,
    out: values.out,
    database: values.database,
    postgres: values.postgres === undefined ? undefined : numberOf('postgres', values.postgres, 15),
    before: values.before,
  }
}

function numberOf(name: string, text: string, least: number): number {
  const value = Number(text)
  if (!(value >= least)) throw new Error(`--${name} must be a number, at least ${least}`)
  if (least >= 1 && !Number.isInteger(value)) throw new Error(`--${name} must be a whole number`)
  return value
}
