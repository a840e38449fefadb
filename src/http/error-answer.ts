import { ParseError } from 'elysia'
import { type Answer, apiError, type ErrorStyle, errorAnswer, HttpError } from '../answers.ts'
import { DatabaseUnavailable, Displaced, StatementTimeout } from '../postgres/failures.ts'
import { Withheld } from './disclosing.ts'
import { logOf, type Watching } from './request-log.ts'
import { databaseAnswer, unavailable } from './unavailable.ts'

/** What the framework tells of a failed request. */
interface Failed {
  error: unknown
  code: string | number
  request: Request
}

/**
 * Gives the answer to anything that is thrown, in the style of an endpoint. What is neither an HttpError nor of the
 * database's known troubles is unforeseen: its cause goes to the log and a fixed body to the caller.
 */
export function answerErrors(style: ErrorStyle, { log, counters }: Watching) {
  return ({ error, code, request }: Failed): Answer => {
    // The framework wraps what is thrown while a body is read.
    const cause = error instanceof ParseError || error instanceof Withheld ? error.cause : error
    if (isOfDatabase(cause)) counters.databaseErrors++
    const known =
      cause instanceof HttpError
        ? cause
        : code === 'NOT_FOUND'
          ? apiError(404, 'Not found')
          : databaseAnswer(cause, style)
    if (!known) logOf(request, log).error({ error: loggable(cause) }, 'unforeseen error')
    if (error instanceof Withheld) return withheld(error, style)
    return errorAnswer(known ?? internalError(style))
  }
}

/** Whatever the cause, the same request may be answered later. */
function withheld({ cause, clientId }: Withheld, style: ErrorStyle): Answer {
  const isKnown = cause instanceof DatabaseUnavailable
  const why = isKnown
    ? cause.reason
    : cause instanceof StatementTimeout
      ? 'the statement took too long'
      : 'an unforeseen error'
  const error = unavailable(style, isKnown ? cause.retryAfterSeconds : 1)
  return errorAnswer(error, { clientId, withheld: `its disclosure could not be recorded: ${why}` })
}

/** Whether the database, or the connection to it, is what failed. */
function isOfDatabase(error: unknown): boolean {
  if (error instanceof Displaced) return false
  if (error instanceof DatabaseUnavailable || error instanceof StatementTimeout) return true
  return error instanceof Error && error.name === 'PostgresError'
}

/** The fixed body of a 500. */
export function internalError(style: ErrorStyle): HttpError {
  return style(500, 'Internal server error')
}

/** What Postgres tells of an error, as far as no row and no value is in it. */
type Told = Error & Partial<Record<'code' | 'severity' | 'routine' | 'constraint_name', string>>

/**
 * What of an error may be logged. A database error's detail and parameters quote rows and requests, which
 * are personal data; its code and the place where it was raised are enough to find the cause.
 */
function loggable(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error }
  const { name, stack } = error
  const frames = stack
    ?.match(/^\s+at .*$/gm)
    ?.slice(0, 8)
    .map(line => line.trim())
  const { code, severity, routine, constraint_name: constraint } = error as Told
  // A log line stays well below the 4 KiB that several processes can write into one pipe unbroken.
  const message = name === 'PostgresError' ? undefined : error.message.slice(0, 500)
  return { name, code, severity, routine, constraint, message, frames }
}
