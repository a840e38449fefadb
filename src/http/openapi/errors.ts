import { apiError, type ErrorStyle, HttpError } from '../../answers.ts'
import { invalidToken, unprovisioned } from '../../assessments/access.ts'
import { assessmentNotFound } from '../../assessments/endpoints.ts'
import { MAX_QUERY_BYTES, parseListQuery } from '../../assessments/parse.ts'
import { type BodyLimits, bodyTooLarge, bodyTooSlow, readJson } from '../../oauth/body.ts'
import { clientOf, invalidClient, oauthTrouble, readTokenParameters } from '../../oauth/credentials.ts'
import { DatabaseUnavailable, StatementTimeout } from '../../postgres/failures.ts'
import { internalError } from '../error-answer.ts'
import { useGet, usePost } from '../methods.ts'
import { databaseAnswer } from '../unavailable.ts'
import { answerHeaders } from './headers.ts'
import { type Json, refTo } from './schema.ts'

/** Errors of one status, by the word that names them as an example. All are made by the code that answers. */
type Errors = Record<string, HttpError>

/** What every request of the API may be answered with, but for 200 and 404. */
const apiErrors = (parameters: Errors): Json => ({
  400: answer('The request cannot be answered as it is. Repeating it does not help.', {
    ...parameters,
    noOrganizations: unprovisioned('tenant', ''),
    noProducts: unprovisioned('product', ''),
  }),
  401: answer('The token is missing, malformed, expired or revoked. Get a new one and repeat the request.', {
    missing: invalidToken('absent'),
    invalid: invalidToken('presented'),
  }),
  405: answer('Another method than GET or HEAD.', { method: useGet() }),
  ...passing(apiError),
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
  const grant = { grant_type: 'client_credentials' } as const
  const form = (text: string) => thrown(() => readTokenParameters(new URLSearchParams(text)))
  return {
    400: answer('The request is wrong in itself. Repeating it does not help.', {
      grantType: form(''),
      repeated: form('client_id=a&client_id=b'),
      inBoth: thrown(() => clientOf({ ...grant, client_secret: 'a' }, `Basic ${btoa('a:b')}`)),
      notJson: thrown(() => readJson('{')),
      notObject: thrown(() => readTokenParameters([])),
      notString: thrown(() => readTokenParameters({ grant_type: 1 })),
    }),
    401: answer('The client ID or the secret is wrong, or the integration is disabled.', {
      client: invalidClient(),
    }),
    405: answer('Another method than POST.', { method: usePost() }),
    408: answer('The body took too long to arrive. The connection is closed; the request may be repeated.', {
      slow: bodyTooSlow(limits.bodyTime),
    }),
    413: answer('The body is too large.', { large: bodyTooLarge(limits.bodySize) }),
    ...passing(oauthTrouble),
  }
}

/** What passes by itself, sooner or later, in the style of an endpoint. */
function passing(style: ErrorStyle): Json {
  const unavailable = databaseAnswer(new DatabaseUnavailable(''), style)
  const timeout = databaseAnswer(new StatementTimeout(), style)
  if (!unavailable || !timeout) throw new Error('the answers to known troubles are missing')
  return {
    431: { description: 'Request line and headers are too long together. There is no body.' },
    500: answer('An error of the service, which has logged its cause.', { internal: internalError(style) }),
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
