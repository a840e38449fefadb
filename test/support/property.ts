import fc from 'fast-check'
import { seed, thorough } from './tier.ts'

export interface Runs {
  /** The number of inputs that both tiers try; no time limit ends a property before. */
  runs: number
  /** The number of inputs at most under `CHECK=all`; default: `runs`. */
  thorough?: number
  /** Milliseconds after which `CHECK=all` begins no further round of `runs`; default: LIMIT. */
  limit?: number
  /** False reports the first failure without shrinking it, for runs that are slow or not deterministic. */
  shrink?: boolean
}

/**
 * The project has some forty properties, and CHECK=all has eight minutes for all tests. RANDOM_SECONDS raises the
 * limit.
 */
const LIMIT = 1000 * Number(process.env.RANDOM_SECONDS ?? 2)

/**
 * Checks a property of fast-check. All properties of this project are checked by this function.
 *
 *     await holds(fc.property(fc.string(), text => ...), { runs: 200, thorough: 5000 })
 *
 * The fast tier tries exactly `runs` inputs from the constant seed of tier.ts; only the time limit of the test ends
 * them earlier, as a failure. `CHECK=all` continues with rounds of `runs`, each from the next seed, until `thorough`
 * inputs were tried or `limit` is over. Throws with the failed input and the TEST_SEED of its round.
 */
export async function holds<Ts>(property: fc.IRawProperty<Ts>, bounds: Runs): Promise<void> {
  const { runs, limit = LIMIT, shrink = true } = bounds
  const wanted = thorough ? (bounds.thorough ?? runs) : runs
  const end = performance.now() + limit
  for (let tried = 0, from = seed; tried === 0 || (tried < wanted && performance.now() < end); from++) {
    const details = await fc.check(property, { seed: from, numRuns: runs, endOnFailure: !shrink })
    if (details.failed) {
      const report = await fc.asyncDefaultReportMessage(details)
      throw new Error(`TEST_SEED=${from} repeats this run\n${report}`, { cause: details.errorInstance })
    }
    if (details.numRuns < runs)
      throw new Error(`the property ran ${details.numRuns} times instead of ${runs}`)
    tried += details.numRuns
  }
}
