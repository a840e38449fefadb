import type { HttpError } from '../../answers.ts'
import { MAX_LINK } from '../../app/next-link.ts'
import {
  ApiError,
  AssessmentList,
  AssessmentRecord,
  OAuthError,
  ResultPart,
  TokenRequest,
  TokenResponse,
} from '../../contract.ts'
import type { BodyLimits } from '../../oauth/body.ts'
import { MAX_VALUES } from '../../parameters.ts'
import { MAX_QUERY_BYTES } from '../query-string.ts'
import { type Errors, listErrors, recordErrors, tokenErrors } from './errors.ts'
import { LIST_EXAMPLE, RECORD_EXAMPLE, TOKEN_EXAMPLE } from './examples.ts'

/** What the OpenAPI document says beyond the schemas with which requests are validated. */

/** The schemas that have a name in the document. */
export const SCHEMAS = {
  AssessmentList,
  AssessmentRecord,
  ResultPart,
  TokenRequest,
  TokenResponse,
  ApiError,
  OAuthError,
}

/** Keeps a route out of the document. */
export const HIDDEN = { detail: { hide: true } }

const text = (description: string, example: string) => ({ description, schema: { type: 'string' }, example })

/** The headers of answers by their names. */
export const HEADERS = {
  Allow: text('The methods that there are.', 'GET, HEAD'),
  'Accept-Encoding': text('What a body may be encoded with: nothing (RFC 9110 §15.5.16).', 'identity'),
  'Cache-Control': text(
    'Nothing is to be stored: records are personal data, tokens are secrets.',
    'private, no-store',
  ),
  Link: text(
    `The next page (RFC 8288): the same request with the next offset, relative to the address of the request. Absent on the last page, and where it would be longer than ${MAX_LINK.toLocaleString('en-US')} bytes.`,
    '<assessments?page=2&filter%5Bstart_date%5D=2026-04-01&offset=2>; rel="next"',
  ),
  'Retry-After': {
    description: 'Seconds to wait before the request is repeated.',
    schema: { type: 'integer' },
    example: 1,
  },
  Vary: text('The body is compressed for clients that accept that (gzip, zstd).', 'Accept-Encoding'),
  'X-Request-Id': text(
    'The operator finds the request by it in the log. A request may bring one of its own: up to 64 letters, digits, dots, dashes and underscores, without 43 letters and digits in a row and without an IPv4 address.',
    '9f1c6a52-3c0e-4f5b-9d0f-0a6b1d6a7e21',
  ),
  'WWW-Authenticate': text(
    'What is asked for (RFC 6750 §3, RFC 7617).',
    'Bearer realm="axport", error="invalid_token", error_description="The access token is invalid"',
  ),
}

/** The parts of the document that belong to no operation. */
export const DOCUMENTATION = {
  openapi: '3.1.1',
  info: {
    title: 'Assessment Export Service',
    version: '1',
    license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
    summary: 'Completed assessments of educators, for integrations.',
    description:
      'Read-only access to the completed assessments of educators, for programs. `POST /oauth/token` gives an access token for the client ID and the secret, good for 7,200 seconds; every other request has it in the header `Authorization: Bearer TOKEN`.\n\nTo read everything, start with `offset=0` and increase it by the page size until it reaches `meta.count`, with `sort` and `order` fixed. Days begin and end in the time zone of the platform. The guide is at `docs`.',
  },
  // Relative to this document, where the base address is not known.
  servers: [{ url: '.', description: 'This service.' }],
  tags: [
    { name: 'Tokens', description: 'Client credentials for an access token.' },
    { name: 'Assessments', description: 'The completed assessments in the scope of the integration.' },
  ],
}

export const SECURITY_SCHEMES = {
  clientCredentials: {
    type: 'oauth2',
    description: 'An access token as `Authorization: Bearer TOKEN`.',
    flows: { clientCredentials: { tokenUrl: 'oauth/token', scopes: {} } },
  },
}

export const tokenDetail = (limits: BodyLimits) => ({
  operationId: 'issueToken',
  tags: ['Tokens'],
  summary: 'Get an access token',
  description:
    'Takes the credentials in any one of three ways: as form parameters, as a JSON body, or by HTTP Basic with `grant_type` in the body. Other parameters are ignored; there are no scopes. Every request issues a further token.',
  // Basic is no scheme here: a generated client would send the header beside the credentials in the body, which is a 400.
  security: [],
  responses: {
    200: answer('An access token.', 'TokenResponse', TOKEN_EXAMPLE, ['Cache-Control', 'X-Request-Id']),
    ...errorAnswers(tokenErrors(limits), {
      ...COMMON,
      400: 'The request is wrong in itself. Repeating it does not help.',
      401: 'The client ID or the secret is wrong, or the integration is disabled.',
      405: 'Another method than POST.',
      408: 'The body took too long to arrive. The connection is closed; the request may be repeated.',
      413: 'The body is too large.',
      415: 'The body has a Content-Encoding.',
    }),
  },
})

const READ = ['Cache-Control', 'X-Request-Id', 'Vary'] as const

/** What surprises in a query string. */
const QUERY_NOTES = [
  '**An unknown name is ignored**: `filter[user_id]=1` returns every record of the scope, because the name is `user_ids`. What looks like a filter and cannot be read is a 400, as `Filter[user_ids]` and `filter.user_ids`.',
  'A blank value counts as not sent: `filter[user_ids][]=` returns every record of the scope, too.',
  'Any other value that cannot be read is a 400. Only `sort` and `order` fall back to their defaults.',
  'A record has to match all filters. A list repeats its name, and commas do not separate values: `filter[user_ids][]=1&filter[user_ids][]=2`. Of other parameters that are repeated, the last value counts.',
  `A list has at most ${MAX_VALUES.toLocaleString('en-US')} values, and the query string ${MAX_QUERY_BYTES / 1024} KiB. More is a 400: send several requests.`,
]

export const listDetail = () => ({
  operationId: 'listAssessments',
  tags: ['Assessments'],
  summary: 'List assessments',
  description:
    'The completed assessments in the scope of the integration, filtered, sorted, a page at a time. An empty page is a success. HEAD answers the same without the body.' +
    `\n\n${QUERY_NOTES.map(note => `- ${note}`).join('\n')}`,
  security: [{ clientCredentials: [] }],
  responses: {
    200: answer('A page of assessments.', 'AssessmentList', LIST_EXAMPLE, [...READ, 'Link']),
    ...errorAnswers(listErrors(), READ_ERRORS),
  },
})

export const recordDetail = () => ({
  operationId: 'retrieveAssessment',
  tags: ['Assessments'],
  summary: 'Retrieve one assessment',
  description: 'One completed assessment, as it stands in a list. HEAD answers the same without the body.',
  security: [{ clientCredentials: [] }],
  responses: {
    200: answer('The assessment.', 'AssessmentRecord', RECORD_EXAMPLE, READ),
    ...errorAnswers(recordErrors(), {
      ...READ_ERRORS,
      404: 'No assessment with that ID in the scope of the integration, or the ID of a part instead of an overall assessment.',
    }),
  },
})

const COMMON: Record<number, string> = {
  431: 'Request line and headers are too long together. There is no body.',
  500: 'An error of the service, which has logged its cause. Repeat the request; if that does not help, tell the operator the X-Request-Id.',
  503: 'The service is overloaded or without its database. Wait for Retry-After and repeat the request.',
  504: 'The database took too long. Ask for less, or repeat the request later.',
}

const READ_ERRORS: Record<number, string> = {
  ...COMMON,
  400: 'The request cannot be answered as it is. Repeating it does not help.',
  401: 'The token is missing, malformed, expired or revoked. Get a new one and repeat the request.',
  405: 'Another method than GET or HEAD.',
}

const reference = (kind: 'schemas' | 'headers', name: string) => ({ $ref: `#/components/${kind}/${name}` })

const references = (headers: readonly string[]) =>
  Object.fromEntries(headers.map(name => [name, reference('headers', name)]))

function answer(
  description: string,
  schema: keyof typeof SCHEMAS,
  example: object,
  headers: readonly string[],
) {
  const json = { schema: reference('schemas', schema), example }
  return { description, headers: references(headers), content: { 'application/json': json } }
}

/** The answers of errors by their descriptions. One without an error of ours is made by Bun, and has no body. */
const errorAnswers = (errors: Errors, descriptions: Record<number, string>) =>
  Object.fromEntries(
    Object.entries(descriptions).map(([status, description]) => {
      const named = errors[Number(status)]
      return [status, named ? { description, ...shown(named) } : { description }]
    }),
  )

/** An example for each error of a status, and the headers that the errors have. */
function shown(named: Record<string, HttpError>) {
  const errors = Object.values(named)
  const sent = new Headers(errors.flatMap(({ headers }) => Object.entries(headers)))
  const names = new Set([
    'Cache-Control',
    'X-Request-Id',
    ...Object.keys(HEADERS).filter(name => sent.has(name)),
  ])
  const examples = Object.entries(named).map(([name, { body }]) => [
    name,
    { summary: 'error' in body ? body.error_description : body.errors[0]?.message, value: body },
  ])
  const schema = errors.some(({ body }) => 'error' in body) ? 'OAuthError' : 'ApiError'
  const json = { schema: reference('schemas', schema), examples: Object.fromEntries(examples) }
  return { headers: references([...names]), content: { 'application/json': json } }
}
