import type { ErrorStyle, HttpError } from '../answers.ts'
import { ClientGone, DatabaseUnavailable, StatementTimeout } from '../postgres/failures.ts'
import type { ServingDatabase } from '../postgres/pool/serving-database.ts'
import type { Limits } from './limits.ts'
import type { Watching } from './request-log.ts'

/** The answer to what the database could not do in time; undefined for any other error. Only the log says why. */
export function databaseAnswer(error: unknown, style: ErrorStyle): HttpError | undefined {
  if (error instanceof DatabaseUnavailable) return unavailable(style, error.retryAfterSeconds)
  if (error instanceof StatementTimeout)
    return style(504, 'The request took too long: ask for less, or try again later')
  // Nobody reads it. The number is the one that nginx made usual, for the log.
  if (error instanceof ClientGone) return style(499, 'The client hung up')
  return undefined
}

/**
 * Refuses what comes while `limits.requests` are in work, the one that asks among them; or, where it will wait for
 * a `pool`, the last that waits of who has more of them waiting. `lane` is who asks, as that pool knows them.
 */
export function refuseOverload({ requests }: Limits, { inFlight }: Watching, style: ErrorStyle) {
  return (pool?: Pick<ServingDatabase, 'displace'>, lane?: string): void => {
    if (inFlight() > requests && !pool?.displace(lane)) throw unavailable(style, 1)
  }
}

/** The 503, with the seconds after which another attempt makes sense. */
export function unavailable(style: ErrorStyle, seconds: number): HttpError {
  const description = 'The service is temporarily unavailable: try again later'
  return style(503, description, { 'retry-after': String(seconds) })
}
