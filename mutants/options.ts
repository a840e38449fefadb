import { parseArgs } from 'node:util'

/** The options of a run of mutants. */
export interface Options {
  /** The number of mutants to draw; default: all. */
  sample: number
  /** The seed of the draw. */
  seed: number
  /** Prefixes of paths; empty for all files. */
  only: string[]
  /** The path of a file of results. Mutants in the file are not tried again. */
  results: string | undefined
  /** The minutes after which no further mutant is tried. */
  minutes: number
  /** The number of mutants that are tried at the same time, each in its own copy of the project. */
  atOnce: number
}

export const USAGE = `Usage: bun run mutants [options]
  --sample N      draw N mutants instead of trying all
  --seed N        seed of the draw (default 1)
  --only PATH     a file or a folder, such as db/migrations; may be repeated
  --results FILE  keep the results in FILE, and skip mutants that FILE has
  --minutes N     begin no mutant after N minutes
  --at-once N     try N mutants at the same time (default 1)`

/**
 * Reads the arguments of `bun run mutants`.
 * @throws Error with a one-line message for the user
 */
export function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      sample: { type: 'string' },
      seed: { type: 'string', default: '1' },
      only: { type: 'string', multiple: true, default: [] },
      results: { type: 'string' },
      minutes: { type: 'string' },
      'at-once': { type: 'string', default: '1' },
    },
  })
  const number = (name: string, text = 'Infinity') => {
    const value = Number(text)
    if (!(value > 0)) throw new Error(`--${name} must be a number above 0, not ${text}`)
    return value
  }
  return {
    sample: number('sample', values.sample),
    seed: number('seed', values.seed),
    only: values.only,
    results: values.results,
    minutes: number('minutes', values.minutes),
    atOnce: number('at-once', values['at-once']),
  }
}
