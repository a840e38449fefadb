import { parseArgs } from 'node:util'

/** How much is measured, and how long. */
export interface Options {
  records: number
  /** Seconds of one measurement under load. */
  seconds: number
  /** Rounds of which the median counts. */
  rounds: number
  /** Connections of the load, and of pgbench. */
  connections: number
  /** Names of the measures; all where none is given. */
  only: string[]
  /** Where the results go as JSON. */
  out: string | undefined
  /** A database that holds imported data; without it, one is made and removed. */
  database: string | undefined
  /** The major version of the Postgres that is started; the tests' own where none is given. */
  postgres: number | undefined
  /** Another executable, to import the same beside. */
  against: string | undefined
  /** What --out wrote for another executable, to stand beside. */
  before: string | undefined
}

export const USAGE = `Usage: bun run bench [options]
  --records N      10000, 100000 (default), 1000000, 10000000, or any other number of assessments
  --only NAME      one measure; may be repeated
  --out FILE       write the results as JSON
  --seconds S      length of one measurement under load (default 3)
  --rounds R       rounds of which the median counts (default 5)
  --database URL   measure a Postgres that holds imported data instead of starting one and importing
  --postgres N     start Postgres N, as Debian installs it, instead of the one that the tests have
  --against FILE   another axport, to compare the import with
  --before FILE    the results of another axport, to stand beside`

/**
 * Reads the arguments of `bun run bench`.
 * @throws Error with a line for the person who called
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
      against: { type: 'string' },
      before: { type: 'string' },
    },
  })
  return {
    // Fewer make no walk: a hundred of them fit on one page.
    records: numberOf('records', values.records, 1000),
    seconds: numberOf('seconds', values.seconds, 0.1),
    rounds: numberOf('rounds', values.rounds, 1),
    connections: 8,
    only: values.only,
    out: values.out,
    database: values.database,
    postgres: values.postgres === undefined ? undefined : numberOf('postgres', values.postgres, 15),
    against: values.against,
    before: values.before,
  }
}

function numberOf(name: string, text: string, least: number): number {
  const value = Number(text)
  if (!(value >= least)) throw new Error(`--${name} must be a number, at least ${least}`)
  if (least >= 1 && !Number.isInteger(value)) throw new Error(`--${name} must be a whole number`)
  return value
}
