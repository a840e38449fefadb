import type { ApiError, OAuthError } from './contract.ts'

/** An answer of the HTTP interface as data, of which app/respond.ts makes a Response. */
export interface Answer {
  status: number
  /** They add to the headers of every answer, or replace them. */
  headers: Record<string, string>
  /** JSON, unless the headers have another content-type. The parts follow each other without anything between. */
  body: BodyPart[]
  /** More fields for the request log. */
  logFields?: LogFields
  /** The records that it shows, if disclosures are recorded: the answer is sent after that. */
  disclosed?: DisclosedRecords
}

export const isAnswer = (value: unknown): value is Answer =>
  typeof value === 'object' && value !== null && 'body' in value && Array.isArray(value.body)

/** Text, or bytes of UTF-8. */
export type BodyPart = string | Uint8Array

/** The records that an answer shows. Ids are arrays in the text format of Postgres: {1,2}. */
export interface DisclosedRecords {
  clientId: string
  /** The ids of assessments, and those of their educators, each once. */
  assessments: string
  people: string
  /** The names of the filters of the request. */
  filters: string[]
}

/** Fields for the request log. */
export interface LogFields {
  clientId?: string
  /** How many, in the answer. */
  records?: number
  /** The reasons of a refusal: of a 400, a 401 or a 503 for overload. They name parameters, and never quote the request. */
  refused?: string[]
  /** Why disclosures could not be recorded, and the answer was not sent. */
  withheld?: string
}

/** The header of an answer that may be compressed, depending on the Accept-Encoding of the request. */
export const COMPRESSIBLE = { vary: 'Accept-Encoding' }

/** An HTTP answer other than success. Any other error is unforeseen: a 500 with a fixed body, logged with its cause. */
export class HttpError extends Error {
  constructor(
    readonly httpStatus: number,
    readonly body: ApiError | OAuthError,
    readonly headers: Record<string, string> = {},
    readonly logFields: LogFields = {},
  ) {
    super(`HTTP ${httpStatus}`)
  }
}

/** Whether an answer refuses its request. A 503 without reasons does not: the database failed. */
export const isRefusal = ({ status, logFields }: Answer) =>
  (status >= 400 && status < 500) || logFields?.refused !== undefined

/** The answer of an error, with more `logFields` than its own. */
export function errorAnswer(error: HttpError, logFields?: LogFields): Answer {
  const { httpStatus: status, headers, body } = error
  const refused = status === 400 || status === 401 ? { refused: reasonsOf(body) } : {}
  return {
    status,
    headers,
    body: [JSON.stringify(body)],
    logFields: { ...refused, ...error.logFields, ...logFields },
  }
}

function reasonsOf(body: HttpError['body']): string[] {
  if ('errors' in body) return body.errors.map(({ message }) => message)
  return [body.error === 'invalid_request' ? `${body.error}: ${body.error_description}` : body.error]
}

/** Makes an error in the form of an endpoint's protocol: apiError or oauthError. */
export type ErrorStyle = typeof apiError

/** An error of the API with one message. */
export function apiError(
  status: number,
  message: string,
  headers?: Record<string, string>,
  logFields?: LogFields,
): HttpError {
  return new HttpError(status, { errors: [{ message }] }, headers, logFields)
}

/** The 503 of the service: the same request may be answered later. */
export function unavailable(style: ErrorStyle, retryAfterSeconds: number, logFields?: LogFields): HttpError {
  const description = 'The service is temporarily unavailable: try again later'
  return style(503, description, { 'retry-after': String(retryAfterSeconds) }, logFields)
}
