import type { Look } from './look.ts'
import type { Lag } from './positions.ts'

/** What is known of the server of DATABASE_URL, against which standbys are held. */
export type Known = Pick<Look, 'system' | 'timeline'>

/**
 * Why a server is no standby of the primary, in words for people; undefined when it is one. Two servers are of one
 * history if they are of one cluster and on one timeline: a promotion begins another. A standby records the timeline that
 * it follows at its restartpoints, so that after a switchover it may take until the next (checkpoint_timeout).
 */
export function whyNoStandby(look: Look, primary: Known | undefined): string | undefined {
  if (!primary) return 'the primary has not been asked yet'
  if (look.system !== primary.system) return 'it is of another cluster'
  if (!look.isStandby) return 'it is no standby'
  if (look.timeline !== primary.timeline)
    return `it is on timeline ${look.timeline}, and the primary on ${primary.timeline}`
  return undefined
}

/** Why a standby is too far behind; undefined when it is not. @param most milliseconds: READ_LAG */
export function whyBehind({ lag, isLeast }: Lag, most: number): string | undefined {
  if (!isLeast && lag <= most) return undefined
  return `it is ${isLeast ? 'more than ' : ''}${Math.round(lag / 1000)} s behind`
}

/** Looks in a row that must find a standby well after it was passed over: one that comes and goes would make walks jump. */
const LOOKS = 3

/** Whether a standby is read from, look by look. */
export class Trust {
  #why: string | undefined = 'it has not been asked yet'
  #well = 0
  #wasFit = false
  #wasAsked = false

  /** Why it is passed over; undefined when it is read from. */
  get why(): string | undefined {
    return this.#why
  }

  /**
   * @param why what the look has found; undefined for nothing
   * @returns what is news: that it is passed over from now on, or read from
   */
  note(why: string | undefined): 'lost' | 'found' | undefined {
    const wasTrusted = this.#why === undefined
    const isFirst = !this.#wasAsked
    this.#wasAsked = true
    this.#well = why === undefined ? this.#well + 1 : 0
    const isTrusted = why === undefined && (wasTrusted || !this.#wasFit || this.#well >= LOOKS)
    this.#wasFit ||= isTrusted
    this.#why = isTrusted ? undefined : (why ?? 'it has just come back')
    if (isTrusted) return wasTrusted || isFirst ? undefined : 'found'
    return wasTrusted || isFirst ? 'lost' : undefined
  }
}
