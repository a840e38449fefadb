/**
 * True under `CHECK=all`, false in the fast tier. Files that only the thorough tier runs are named `*.long.test.ts`
 * and need not ask.
 */
export const thorough = process.env.CHECK === 'all'

/**
 * Where everything random in the tests starts, from 0 to 2^31 - 1. `TEST_SEED` sets the seed; without TEST_SEED it is
 * the same in every run of the fast tier and another one in each process of the thorough tier.
 * What fails names TEST_SEED in its message: "TEST_SEED=17 repeats this run".
 */
export const seed = readSeed(process.env.TEST_SEED)

let state = seed

/** A whole number from 0 to below `limit`, at random from the seed on (a linear congruence: for tests alone). */
export function randomBelow(limit: number): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return Math.floor((state / 2 ** 32) * limit)
}

function readSeed(value: string | undefined): number {
  if (value === undefined || value === '') return thorough ? Math.floor(Math.random() * 2 ** 30) : 20_261_120
  if (!/^\d+$/.test(value) || Number(value) >= 2 ** 31)
    throw new Error(`TEST_SEED must be an integer from 0 to 2147483647, not ${JSON.stringify(value)}`)
  return Number(value)
}
