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

/**
 * Whether a standby is read from, by its checks, one each second:
 *
 *     unknown     a good check                   → healthy
 *     any         a bad check                    → unhealthy
 *     unhealthy   GOOD_CHECKS good ones in a row → healthy
 */
export type Eligibility =
  | { is: 'unknown' }
  /** `since`: when a check first found that, by performance.now(). */
  | { is: 'healthy'; since: number }
  /** `reason`: what the last check found, for people. `goodChecks`: how many were good since the last bad one. */
  | { is: 'unhealthy'; reason: string; goodChecks: number }

/** What a check makes of the eligibility. @param problem that it found; undefined for none */
export function checked(before: Eligibility, problem: string | undefined, now: number): Eligibility {
  if (problem !== undefined) return { is: 'unhealthy', reason: problem, goodChecks: 0 }
  if (before.is === 'healthy') return before
  const goodChecks = before.is === 'unknown' ? GOOD_CHECKS : before.goodChecks + 1
  if (goodChecks >= GOOD_CHECKS) return { is: 'healthy', since: now }
  return { is: 'unhealthy', reason: 'it has just come back', goodChecks }
}

/** Why a standby is passed over, for people; undefined if it is read from. */
export function whyPassedOver(eligibility: Eligibility): string | undefined {
  if (eligibility.is === 'unknown') return 'it has not been asked yet'
  return eligibility.is === 'unhealthy' ? eligibility.reason : undefined
}
