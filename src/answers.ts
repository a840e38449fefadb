import { type Static, Type as t } from '@sinclair/typebox'

/**
 * The answers of the HTTP interface, as data until http/respond.ts makes Responses of them, and the errors among
 * them. Anything that is thrown and is not an HttpError is unforeseen: a 500 with a fixed body, logged with its cause.
 */

/** An answer. */
export interface Answer {
  status: number
  /** Beside those that every answer carries, or in their place. */
  headers: Record<string, string>
  /** Finished: JSON, unless the headers have another content-type. */
  body: string | Uint8Array<ArrayBuffer>
  /** What the request log says of it that status and headers do not: who is answered, and how many records are sent. */
  facts?: { clientId?: string; records?: number }
}

/** The header of an answer that may be compressed, and so depends on what its client accepts. */
export const COMPRESSIBLE = { vary: 'Accept-Encoding' }

/** An HTTP answer other than success. `body` is sent as JSON, exactly as it is. */
export class HttpError extends Error {
  constructor(
    readonly httpStatus: number,
    readonly body: ErrorsBody | OAuthErrorBody,
    readonly headers: Record<string, string> = {},
    readonly facts: NonNullable<Answer['facts']> = {},
  ) {
    super(`HTTP ${httpStatus}`)
  }
}

/** One thing that is wrong with an API request. */
const ErrorItem = t.Object({
  message: t.String({ description: 'What is wrong, for people to read.' }),
  parameter: t.Optional(
    t.String({ description: 'The query parameter that it is about, where it is about one.' }),
  ),
})
export type ErrorItem = Static<typeof ErrorItem>

/** The body of the API's errors other than 401 (spec 7.1). */
export const ErrorsBody = t.Object({ errors: t.Array(ErrorItem, { minItems: 1 }) })
export type ErrorsBody = Static<typeof ErrorsBody>

/** The body of the token endpoint's errors and of every 401 (spec 7.1, RFC 6749 §5.2). */
export const OAuthErrorBody = t.Object({
  error: t.String({ description: 'A code for programs, of RFC 6749 or RFC 6750.' }),
  error_description: t.String({ description: 'What is wrong, for people to read.' }),
})
export type OAuthErrorBody = Static<typeof OAuthErrorBody>

/** An error as an answer; `facts` beside its own. */
export function errorAnswer(error: HttpError, facts?: Answer['facts']): Answer {
  const { httpStatus: status, headers, body } = error
  return { status, headers, body: JSON.stringify(body), facts: { ...error.facts, ...facts } }
}

/** How an endpoint words an error that is not about its own parameters. */
export type ErrorStyle = (status: number, description: string, headers?: Record<string, string>) => HttpError

/** The API's error with one message. */
export function apiError(
  status: number,
  message: string,
  headers?: Record<string, string>,
  facts?: Answer['facts'],
): HttpError {
  return new HttpError(status, { errors: [{ message }] }, headers, facts)
}
