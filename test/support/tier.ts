import { randomInt } from 'node:crypto'
import type { Tier } from '../../scripts/tests.ts'

/** The tier of this run: `all` under `CHECK=all`. */
export const tier: Tier = process.env.CHECK === 'all' ? 'all' : 'fast'

/**
 * True under `CHECK=all`, false in the fast tier. Files that run only under `CHECK=all` are named `*.long.test.ts` and
 * need not check this.
 */
export const thorough = tier === 'all'

/**
 * The seed of all random inputs, from 0 to 2^31 - 1. `TEST_SEED` sets the seed; without TEST_SEED the seed is constant
 * in the fast tier, and random in each process under `CHECK=all`. The message of a failed
 * property has the command that repeats it.
 */
export const seed = readSeed(process.env.TEST_SEED)

let state = seed

/** A pseudo-random integer from 0 to `limit` - 1, derived from the seed (linear congruence; for tests only). */
export function randomBelow(limit: number): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return Math.floor((state / 2 ** 32) * limit)
}

function readSeed(value: string | undefined): number {
  if (value === undefined || value === '') return thorough ? randomInt(2 ** 30) : 20_261_120
  if (!/^\d+$/.test(value) || Number(value) >= 2 ** 31)
    throw new Error(`TEST_SEED must be an integer from 0 to 2147483647, not ${JSON.stringify(value)}`)
  return Number(value)
}
