import { parseArgs } from 'node:util'

/** Which mutants are tried, and how long. */
export interface Options {
  /** How many are drawn; all where none is given. */
  sample: number
  /** Where drawing them starts. */
  seed: number
  /** Beginnings of paths. */
  only: string[]
  /** A file of what has been found: what is in it is not tried again. */
  results: string | undefined
  /** No mutant is begun after it. */
  minutes: number
  /** How many are tried at the same time, each in a copy of its own. */
  atOnce: number
}

export const USAGE = `Usage: bun run mutants [options]
  --sample N      draw N mutants instead of trying all
  --seed N        where drawing starts (default 1)
  --only PATH     a file or a folder, as db/migrations; may be repeated
  --results FILE  keep what is found, and go on from there the next time
  --minutes N     begin no mutant after N minutes
  --at-once N     try N at the same time (default 1)`

/**
 * Reads the arguments of `bun run mutants`.
 * @throws Error with a line for the person who called
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
