import { type ErrorStyle, HttpError } from '../../answers.ts'
import { MAX_LINK } from '../../assessments/query-string.ts'
import { DatabaseUnavailable, StatementTimeout } from '../../postgres/failures.ts'
import { databaseError, internalError, methodNotAllowed } from '../errors.ts'
import { refTo, type SchemaName } from './schemas.ts'
import type { Header, Operation, Response } from './types.ts'

/** The sample of an operation. */
export function curl(source: string): Operation['x-codeSamples'] {
  return [{ lang: 'Shell', label: 'curl', source }]
}

/** A response of status 200. */
export function success(
  description: string,
  schema: SchemaName,
  example: object,
  headers: string[],
): Response {
  const content = { 'application/json': { schema: refTo(schema), example } }
  return { description, headers: headersOf(headers), content }
}

/** Errors of one status, by the word that names each as an example. The code that answers requests makes them. */
type Errors = Record<string, HttpError>

/** A response with an example for each error, and the headers that they have. */
export function failure(description: string, errors: Errors): Response {
  const all = Object.values(errors)
  const isOAuth = all.some(({ body }) => 'error' in body)
  const examples = Object.entries(errors).map(([name, { body }]) => [
    name,
    { summary: 'error' in body ? body.error_description : body.errors[0]?.message, value: body },
  ])
  const schema = refTo(isOAuth ? 'OAuthError' : 'ApiError')
  return {
    description,
    headers: headersOf(all.flatMap(({ headers }) => Object.keys(headers))),
    content: { 'application/json': { schema, examples: Object.fromEntries(examples) } },
  }
}

/** The errors that every endpoint can answer with. */
export function commonFailures(
  method: keyof typeof methodNotAllowed,
  style: ErrorStyle,
): Record<string, Response> {
  const unavailable = databaseError(new DatabaseUnavailable(''), style) as HttpError
  const timeout = databaseError(new StatementTimeout(), style) as HttpError
  return {
    405: failure(`Another method than ${method === 'GET' ? 'GET or HEAD' : method}.`, {
      method: methodNotAllowed[method](),
    }),
    431: { description: 'Request line and headers are too long together. There is no body.' },
    500: failure('An error of the service, which has logged its cause.', { internal: internalError(style) }),
    503: failure(
      'The service is overloaded or without its database. Wait for Retry-After and repeat the request.',
      { unavailable },
    ),
    504: failure('The database took too long. Ask for less, or repeat the request later.', { timeout }),
  }
}

/** The HttpError that `act` throws. */
export function thrown(act: () => unknown): HttpError {
  try {
    act()
  } catch (error) {
    if (error instanceof HttpError) return error
    throw error
  }
  throw new Error(`no error to show: ${act}`)
}

const header = (description: string, example: string | number): Header => ({
  description,
  schema: { type: typeof example === 'number' ? 'integer' : 'string' },
  example,
})

/** The headers that mean something to a client, as components of the document. */
export const HEADERS: Record<string, Header> = {
  Allow: header('The methods that there are.', 'GET, HEAD'),
  'Cache-Control': header(
    'Nothing is to be stored: records are personal data, tokens are secrets.',
    'private, no-store',
  ),
  Link: header(
    `The next page (RFC 8288): the same request with the next offset, relative to the address of the request. Absent on the last page, and where it would be longer than ${MAX_LINK.toLocaleString('en-US')} bytes.`,
    '<assessments?page=2&offset=2>; rel="next"',
  ),
  'Retry-After': header('Seconds to wait before the request is repeated.', 1),
  Vary: header('The body is compressed for clients that accept that (gzip, zstd).', 'Accept-Encoding'),
  'X-Request-Id': header(
    'The operator finds the request by it in the log. A request may bring one of its own: up to 64 letters, digits, dots, dashes and underscores.',
    '9f1c6a52-3c0e-4f5b-9d0f-0a6b1d6a7e21',
  ),
  'WWW-Authenticate': header(
    'What is asked for (RFC 6750 §3, RFC 7617).',
    'Bearer realm="axport", error="invalid_token", error_description="The access token is invalid"',
  ),
}

/** References to the two headers that every response has, and to those of `names` that are described. */
function headersOf(names: string[]): Record<string, object> {
  const known = ['Cache-Control', 'X-Request-Id', ...names].flatMap(
    name => Object.keys(HEADERS).find(header => header.toLowerCase() === name.toLowerCase()) ?? [],
  )
  return Object.fromEntries(known.map(name => [name, { $ref: `#/components/headers/${name}` }]))
}
