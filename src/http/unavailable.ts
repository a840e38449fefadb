import { Elysia } from 'elysia'
import { apiError, type HttpError } from '../answers.ts'
import { oauthError } from '../oauth/credentials.ts'
import { ClientGone, DatabaseUnavailable, StatementTimeout } from '../postgres/failures.ts'

/**
 * The answer to what the database could not do in time, in the style of the endpoint; undefined for any
 * other error. Why it could not is the operator's business: it is in the log, and in the readiness report.
 */
export function databaseAnswer(error: unknown, path: string): HttpError | undefined {
  if (error instanceof DatabaseUnavailable) return unavailable(path, error.retryAfter)
  if (error instanceof StatementTimeout) {
    const description = 'The request took too long: ask for less, or try again later'
    return inStyleOf(path, 504, description)
  }
  // Nobody reads it. The number is the one that nginx made usual, for the log.
  if (error instanceof ClientGone) return inStyleOf(path, 499, 'The client hung up')
  return undefined
}

/** Refuses what comes while `most` requests are in work: each of them takes memory and a place in the line. */
export function refuseOverload(most: number) {
  return new Elysia({ name: 'overload' }).onRequest(({ request, server }) => {
    // The one that asks is among them.
    if (server && server.pendingRequests > most) throw unavailable(new URL(request.url).pathname, 1)
  })
}

function unavailable(path: string, seconds: number): HttpError {
  const description = 'The service is temporarily unavailable: try again later'
  return inStyleOf(path, 503, description, { 'retry-after': String(seconds) })
}

/** RFC 6749 has no code of its own for this at the token endpoint; this one it has for the other endpoint (§4.1.2.1). */
function inStyleOf(path: string, status: number, description: string, headers?: Record<string, string>) {
  return path.startsWith('/oauth/')
    ? oauthError(status, 'temporarily_unavailable', description, headers)
    : apiError(status, description, headers)
}
