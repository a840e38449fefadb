import { parseArgs } from 'node:util'

/** The options of the benchmark. */
export interface Options {
  records: number
  /** Seconds of one measurement under load. */
  seconds: number
  /** The number of rounds, whose median is the result. */
  rounds: number
  /** Names of measures; empty for all. */
  only: string[]
  /** The path of a file for the results as JSON. */
  out: string | undefined
  /** The major version of the Postgres to start; by default that of the tests. */
  postgres: number | undefined
  /** The path of another executable, which is measured in turns with the present one. */
  before: string | undefined
}

export const USAGE = `Usage: bun run bench [options]
  --records N      number of assessments (default 100000)
  --only NAME      one measure; may be repeated
  --out FILE       write the figures of each round as JSON
  --seconds S      length of one measurement under load (default 3)
  --rounds R       number of rounds; the median is the result (default 5)
  --postgres N     start Debian's Postgres N instead of the Postgres of the tests
  --before FILE    another axport executable, which is measured in turns with the present one`

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
      postgres: { type: 'string' },
      before: { type: 'string' },
    },
  })
  return {
    // Fewer than 1,000 records are too few pages for a walk.
    records: numberOf('records', values.records, 1000),
    seconds: numberOf('seconds', values.seconds, 0.1),
    rounds: numberOf('rounds', values.rounds, 1),
    only: values.only,
    out: values.out,
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
