import type { Lag } from './positions.ts'
import type { ServerStatus } from './server-status.ts'

/** What standbys are compared with: the server of DATABASE_URL. */
export type PrimaryIdentity = Pick<ServerStatus, 'system' | 'timeline'>

/**
 * Why a server is no standby of the primary, for people; undefined if it is one. It has to be of the same cluster and on
 * the same timeline, because a promotion begins another timeline. A standby records its timeline at restartpoints, so that
 * after a switchover this can take until the next one (checkpoint_timeout).
 */
export function whyNotStandby(
  status: ServerStatus,
  primary: PrimaryIdentity | undefined,
): string | undefined {
  if (!primary) return 'the primary has not been asked yet'
  if (status.system !== primary.system) return 'it is of another cluster'
  if (!status.isStandby) return 'it is no standby'
  if (status.timeline !== primary.timeline)
    return `it is on timeline ${status.timeline}, and the primary on ${primary.timeline}`
  return undefined
}

/** Why a standby is too far behind; undefined if it is not. @param maxLagMs READ_LAG */
export function whyTooFarBehind({ lagMs, isMinimum }: Lag, maxLagMs: number): string | undefined {
  if (!isMinimum && lagMs <= maxLagMs) return undefined
  return `it is ${isMinimum ? 'more than ' : ''}${Math.round(lagMs / 1000)} s behind`
}

/** Good checks in a row until a standby is read from again: one that comes and goes would make walks jump. */
const GOOD_CHECKS = 3

/** Whether a standby is read from, by its checks. */
export class Eligibility {
  /** Why it is not read from; undefined if it is. */
  reason: string | undefined = 'it has not been asked yet'
  #goodChecks = 0
  #wasEligible = false
  #wasChecked = false

  /**
   * @param problem found by a check; undefined for none
   * @returns what changed
   */
  note(problem: string | undefined): 'lost' | 'found' | undefined {
    const before = this.reason === undefined
    const isFirst = !this.#wasChecked
    this.#wasChecked = true
    this.#goodChecks = problem === undefined ? this.#goodChecks + 1 : 0
    const isEligible =
      problem === undefined && (before || !this.#wasEligible || this.#goodChecks >= GOOD_CHECKS)
    this.#wasEligible ||= isEligible
    this.reason = isEligible ? undefined : (problem ?? 'it has just come back')
    if (isEligible) return before || isFirst ? undefined : 'found'
    return before || isFirst ? 'lost' : undefined
  }
}
