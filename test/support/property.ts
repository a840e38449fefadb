import fc from 'fast-check'
import { seed, thorough } from './tier.ts'

export interface Runs {
  /** Required in either tier; nothing ends a property before. */
  runs: number
  /** Under `CHECK=all`; the same as `runs` unless given. */
  thorough?: number
  /** Milliseconds after which `CHECK=all` begins no further round of `runs`; LIMIT unless given. */
  limit?: number
  /** False reports the first failure as it is, where runs take long or are never quite the same. */
  shrink?: boolean
}

/** There are some forty properties, and CHECK=all has eight minutes for all tests. RANDOM_SECONDS gives them more. */
const LIMIT = 1000 * Number(process.env.RANDOM_SECONDS ?? 2)

/**
 * Checks a property of fast-check; the one way in which a test of this project does.
 *
 *     await holds(fc.property(fc.string(), text => ...), { runs: 200, thorough: 5000 })
 *
 * The fast tier tries exactly `runs` inputs, from the fixed seed of tier.ts, however long they take: the test's own
 * time limit ends them, as a failure. `CHECK=all` goes on with rounds of `runs`, each from the next seed, until
 * `thorough` inputs are through or `limit` is over. Throws with the input that failed and the TEST_SEED of its round.
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
    if (details.numRuns < runs) throw new Error(`${details.numRuns} runs, ${runs} are required`)
    tried += details.numRuns
  }
}
