import { type Static, Type as t } from '@sinclair/typebox'

/**
 * The answers of the HTTP interface: what every one of them carries, and the errors among them. Anything
 * that is thrown and is not an HttpError is unforeseen: a 500 with a fixed body, logged with its cause.
 */

/** What every answer carries: nobody caches personal data, nobody guesses at content types. */
const COMMON_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'private, no-store',
  'x-content-type-options': 'nosniff',
}

/**
 * The only place an answer is made. `json` is finished JSON; `headers` override the common ones. The
 * length is what would be sent anyway; said here, the request log knows it.
 */
export function jsonResponse(
  status: number,
  json: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Response {
  const length = String(Buffer.byteLength(json))
  return new Response(json, { status, headers: { ...COMMON_HEADERS, 'content-length': length, ...headers } })
}

/** What the request log says of an answer that its status and headers do not. */
export interface Facts {
  /** Who is answered. */
  clientId?: string
  /** Records of the export that it carries. */
  records?: number
}

const facts = new WeakMap<Response, Facts>()

/** The same answer, with what the request log is to say of it. */
export function withFacts(answer: Response, known: Facts): Response {
  facts.set(answer, known)
  return answer
}

export function factsOf(answer: Response): Facts {
  return facts.get(answer) ?? {}
}

/** An HTTP answer other than success. `body` is sent as JSON, exactly as it is. */
export class HttpError extends Error {
  constructor(
    readonly httpStatus: number,
    readonly body: ErrorsBody | OAuthErrorBody,
    readonly headers: Record<string, string> = {},
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

/** The API's error with one message. */
export function apiError(status: number, message: string, headers?: Record<string, string>): HttpError {
  return new HttpError(status, { errors: [{ message }] }, headers)
}
