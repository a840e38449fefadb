import { HttpError } from '../../answers.ts'
import { assessmentNotFound } from '../../assessments/endpoints.ts'
import { MAX_QUERY_BYTES, parseListQuery } from '../../assessments/parse.ts'
import { invalidClient, readTokenRequest } from '../../oauth/credentials.ts'
import { type BodyLimits, bodyTooLarge, bodyTooSlow } from '../../oauth/endpoint.ts'
import { DatabaseUnavailable, StatementTimeout } from '../../postgres/failures.ts'
import { internalError } from '../error-answer.ts'
import { invalidToken, requireProvisioning } from '../guard.ts'
import { useGet, usePost } from '../methods.ts'
import { databaseAnswer } from '../unavailable.ts'
import { answerHeaders } from './headers.ts'
import { type Json, refTo } from './schema.ts'

/** Errors of one status, by the word that names them as an example. All are made by the code that answers. */
type Errors = Record<string, HttpError>

const LIST = '/api/'
const TOKEN = '/oauth/'

/** What every request of the API may be answered with, but for 200 and 404. */
const apiErrors = (parameters: Errors): Json => ({
  400: answer('The request can not be answered as it is. Repeating it does not help.', {
    ...parameters,
    noOrganizations: thrown(() => requireProvisioning({ organizationIds: [], productIds: ['1'] })),
    noProducts: thrown(() => requireProvisioning({ organizationIds: ['1'], productIds: [] })),
  }),
  401: answer('The token is missing, malformed, expired or revoked. Get a new one and repeat the request.', {
    missing: invalidToken('absent'),
    invalid: invalidToken('presented'),
  }),
  405: answer('Another method than GET or HEAD.', { method: useGet() }),
  ...passing(LIST),
})

/** The errors of GET /api/v1/ax/assessments. */
export function listErrors(): Json {
  return apiErrors({
    unreadable: thrown(() => parseListQuery('page=0&filter[user_ids][]=abc')),
    encoding: thrown(() => parseListQuery('filter[search]=%FF')),
    tooLong: thrown(() => parseListQuery('x'.repeat(MAX_QUERY_BYTES + 1))),
  })
}

/** The errors of GET /api/v1/ax/assessments/:id. */
export function retrieveErrors(): Json {
  const description =
    'No assessment with that ID in the scope of the integration, or the ID of a part instead of an overall assessment.'
  return { ...apiErrors({}), 404: answer(description, { notFound: assessmentNotFound() }) }
}

/** The errors of POST /oauth/token (RFC 6749 §5.2). */
export function tokenErrors(limits: BodyLimits): Json {
  const form = 'application/x-www-form-urlencoded'
  const json = 'application/json'
  const grant = 'grant_type=client_credentials'
  return {
    400: answer('The request is wrong in itself. Repeating it does not help.', {
      grantType: thrown(() => readTokenRequest(null, '', null)),
      repeated: thrown(() => readTokenRequest(form, `${grant}&client_id=a&client_id=b`, null)),
      inBoth: thrown(() => readTokenRequest(form, `${grant}&client_secret=a`, `Basic ${btoa('a:b')}`)),
      notJson: thrown(() => readTokenRequest(json, '{', null)),
      notObject: thrown(() => readTokenRequest(json, '[]', null)),
      notString: thrown(() => readTokenRequest(json, '{"grant_type":1}', null)),
    }),
    401: answer('The client ID or the secret is wrong, or the integration is disabled.', {
      client: invalidClient(),
    }),
    405: answer('Another method than POST.', { method: usePost() }),
    408: answer('The body took too long to arrive. The connection is closed; the request may be repeated.', {
      slow: bodyTooSlow(limits.bodyTime),
    }),
    413: answer('The body is too large.', { large: bodyTooLarge(limits.bodySize) }),
    ...passing(TOKEN),
  }
}

/** What passes by itself, sooner or later, in the style of the endpoint at `path`. */
function passing(path: string): Json {
  const unavailable = databaseAnswer(new DatabaseUnavailable(''), path)
  const timeout = databaseAnswer(new StatementTimeout(), path)
  if (!unavailable || !timeout) throw new Error('the answers to known troubles are missing')
  return {
    431: { description: 'Request line and headers are too long together. There is no body.' },
    500: answer('An error of the service, which has logged its cause.', { internal: internalError(path) }),
    503: answer(
      'The service is overloaded or without its database. Wait for Retry-After and repeat the request.',
      {
        unavailable,
      },
    ),
    504: answer('The database took too long. Ask for less, or repeat the request later.', { timeout }),
  }
}

/** A response object with an example for each error, and the headers that they have. */
function answer(description: string, errors: Errors): Json {
  const all = Object.values(errors)
  const isOAuth = all.some(({ body }) => 'error' in body)
  const examples = Object.entries(errors).map(([name, { body }]) => [
    name,
    { summary: 'error' in body ? body.error_description : body.errors[0]?.message, value: body },
  ])
  return {
    description,
    headers: answerHeaders(all.flatMap(({ headers }) => Object.keys(headers))),
    content: {
      'application/json': {
        schema: refTo(isOAuth ? 'OAuthError' : 'ApiError'),
        examples: Object.fromEntries(examples),
      },
    },
  }
}

/** The HttpError that `act` throws. */
function thrown(act: () => unknown): HttpError {
  try {
    act()
  } catch (error) {
    if (error instanceof HttpError) return error
    throw error
  }
  throw new Error(`no error to show: ${act}`)
}
