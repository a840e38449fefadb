import { ValidationError } from 'elysia'
import { type Answer, type ErrorStyle, errorAnswer, HttpError, unavailable } from '../answers.ts'
import { ROWS_HIDDEN } from '../database/describe-error.ts'
import { ClientGone, DatabaseUnavailable, StatementTimeout, wouldHideRows } from '../database/failures.ts'
import { exchangeOf } from './exchange.ts'

/** The answer to a request that failed, in the style of its endpoint. An unforeseen error is logged with its cause. */
export function failureAnswer(request: Request, error: unknown, style: ErrorStyle): Answer {
  const { id: request_id, service } = exchangeOf(request)
  if (isOfDatabase(error)) service.counters.databaseErrors++
  const known = httpErrorOf(error, style)
  if (known.httpStatus === 500) service.log.error({ request_id, error: loggable(error) }, 'unforeseen error')
  return errorAnswer(known)
}

/** The HttpError for an error: a known failure of the database has its own status, an unforeseen error is a 500. */
export function httpErrorOf(error: unknown, style: ErrorStyle): HttpError {
  if (error instanceof HttpError) return error
  if (error instanceof DatabaseUnavailable) return unavailable(style, error.retryAfterSeconds)
  if (error instanceof StatementTimeout)
    return style(504, 'The request took too long: ask for less, or try again later')
  // For the log alone: nginx made this status usual.
  if (error instanceof ClientGone) return style(499, 'The client hung up')
  return style(500, 'Internal server error')
}

/** The 405 of a path that has one method. @param allow the methods that there are */
export function methodNotAllowed(allow: 'GET, HEAD' | 'POST', style: ErrorStyle): HttpError {
  return style(405, `Use ${allow.split(',')[0]}`, { allow })
}

/** The 400 that names each parameter of a list that cannot be read: to drop one would widen the answer. */
export function unreadableParameters(issues: { message?: string; path: string | string[] }[]): HttpError {
  const errors = issues.map(({ message = '', path }) => ({ message, parameter: String(path) }))
  return new HttpError(400, { errors })
}

/** The answer of a path to a method that it does not have. */
export const notAllowed = (request: Request, allow: 'GET, HEAD' | 'POST', style: ErrorStyle): Answer =>
  failureAnswer(request, methodNotAllowed(allow, style), style)

/** Whether the database, or the connection to it, failed. */
function isOfDatabase(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable || error instanceof StatementTimeout) return true
  return error instanceof Error && error.name === 'PostgresError'
}

/** What may be logged of an error. A PostgresError and Elysia's ValidationError quote rows and requests: personal data. */
function loggable(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error }
  const { name, stack = '' } = error
  const frames = stack.match(/^\s+at .*$/gm)?.slice(0, 8)
  const { code, severity, routine, constraint_name: constraint } = error as Error & Record<string, unknown>
  // A log line stays well below the 4 KiB that several processes can write into one pipe unbroken.
  const quotes = name === 'PostgresError' || error instanceof ValidationError
  const own = quotes ? undefined : error.message.slice(0, 500)
  const message = wouldHideRows(error) ? ROWS_HIDDEN : own
  return { name, code, severity, routine, constraint, message, frames: frames?.map(frame => frame.trim()) }
}
