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
  /** Fields of the line in the request log, beside status and the like. */
  logFields?: LogFields
  /** What is to be recorded before the answer is sent; absent while disclosures are not recorded. */
  disclosed?: DisclosedRecords
}

/** The records of an answer: ids as Postgres writes arrays, which are passed on as they are. */
export interface DisclosedRecords {
  clientId: string
  /** Ids of assessments, and those of their educators, each once: {1,2}. */
  assessments: string
  people: string
  /** The names of the filters of the request. */
  filters: string[]
}

export interface LogFields {
  /** The integration; absent until the request has proved that it is that integration. */
  clientId?: string
  /** How many records are sent. */
  records?: number
  /** Why there is a 400 or a 401: texts that name parameters and quote nothing that was sent. */
  refused?: string[]
  /** Why an answer was not sent: its disclosure could not be recorded. */
  withheld?: string
  /** Our parameters that unknown parameters of the request resemble, which have no effect. */
  resembled?: string[]
}

/** The header of an answer that may be compressed, and so depends on what its client accepts. */
export const COMPRESSIBLE = { vary: 'Accept-Encoding' }

/** An HTTP answer other than success. `body` is sent as JSON, exactly as it is. */
export class HttpError extends Error {
  constructor(
    readonly httpStatus: number,
    readonly body: ErrorsBody | OAuthErrorBody,
    readonly headers: Record<string, string> = {},
    readonly logFields: LogFields = {},
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

/** An error as an answer, with more log fields. */
export function errorAnswer(error: HttpError, logFields?: LogFields): Answer {
  const { httpStatus: status, headers, body } = error
  const refused = status === 400 || status === 401 ? { refused: reasonsOf(body) } : {}
  return {
    status,
    headers,
    body: JSON.stringify(body),
    logFields: { ...error.logFields, ...refused, ...logFields },
  }
}

function reasonsOf(body: HttpError['body']): string[] {
  if ('errors' in body) return body.errors.map(({ message }) => message)
  return [body.error === 'invalid_request' ? `${body.error}: ${body.error_description}` : body.error]
}

/** How an endpoint words an error that is not about its own parameters. */
export type ErrorStyle = (status: number, description: string, headers?: Record<string, string>) => HttpError

/** The API's error with one message. */
export function apiError(
  status: number,
  message: string,
  headers?: Record<string, string>,
  logFields?: LogFields,
): HttpError {
  return new HttpError(status, { errors: [{ message }] }, headers, logFields)
}
