import { apiError, HttpError, jsonResponse } from '../answers.ts'
import { oauthError } from '../oauth/credentials.ts'
import { DatabaseUnavailable, StatementTimeout } from '../postgres/failures.ts'
import type { Log } from './request-log.ts'
import { databaseAnswer } from './unavailable.ts'

/**
 * The answer to anything that was thrown. What is neither an HttpError nor of the database's known troubles is
 * unforeseen: its cause goes to the log and a fixed body to the caller, in the style of the endpoint.
 */
export function errorAnswer(
  error: unknown,
  code: string | number,
  path: string,
  set: { status?: number | string },
  log: Log,
): Response {
  const answer =
    error instanceof HttpError
      ? error
      : code === 'NOT_FOUND'
        ? notFound()
        : (databaseAnswer(error, path) ?? unforeseen(error, path, log))
  set.status = answer.httpStatus
  return jsonResponse(answer.httpStatus, JSON.stringify(answer.body), answer.headers)
}

/** Whether the database, or the connection to it, is what failed. */
export function isOfDatabase(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable || error instanceof StatementTimeout) return true
  return (error as { name?: string }).name === 'PostgresError'
}

function notFound(): HttpError {
  return apiError(404, 'Not found')
}

function unforeseen(error: unknown, path: string, log: Log): HttpError {
  log.error({ error: loggable(error) }, 'unforeseen error')
  return internalError(path)
}

/** The fixed body of a 500, in the style of the endpoint. */
export function internalError(path: string): HttpError {
  return path.startsWith('/oauth/')
    ? oauthError(500, 'server_error', 'Internal server error')
    : apiError(500, 'Internal server error')
}

/**
 * What of an error may be logged. A database error's detail and parameters quote rows and requests, which
 * are personal data; its code and the place where it was raised are enough to find the cause.
 */
function loggable(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error }
  const { name, stack } = error
  const frames = stack
    ?.split('\n')
    .filter(line => /^\s+at /.test(line))
    .slice(0, 8)
    .map(line => line.trim())
  const isFromDatabase = name === 'PostgresError'
  const {
    code,
    severity,
    routine,
    constraint_name: constraint,
  } = error as unknown as Partial<Record<string, unknown>>
  return {
    name,
    code,
    severity,
    routine,
    constraint,
    // A log line stays well below the 4 KiB that several processes can write into one pipe unbroken.
    message: isFromDatabase ? undefined : error.message.slice(0, 500),
    frames,
  }
}
