import { apiError, type ErrorStyle, HttpError } from '../../answers.ts'
import { invalidToken, unprovisioned } from '../../assessments/access.ts'
import { assessmentNotFound } from '../../assessments/endpoints.ts'
import { parseListQuery } from '../../assessments/list-query.ts'
import { MAX_QUERY_BYTES, pairsIn } from '../../assessments/query-string.ts'
import { DatabaseUnavailable, StatementTimeout } from '../../database/failures.ts'
import { type BodyLimits, bodyTooLarge, bodyTooSlow, parametersIn } from '../../oauth/body.ts'
import { clientOf, invalidClient, oauthError } from '../../oauth/credentials.ts'
import { LIST, RETRIEVE } from '../assessment-endpoints.ts'
import { httpErrorOf, methodNotAllowed } from '../errors.ts'
import { TOKEN } from '../token-endpoint.ts'

/** The errors of a path by status, each with the name of its example. */
export type Errors = Record<number, Record<string, HttpError>>

const secret = { grant_type: 'client_credentials', client_secret: 'a' }

/** The errors of each path, made by the code that answers with them. */
export const errorsOf = (limits: BodyLimits): Record<string, Errors> => ({
  [TOKEN]: {
    400: {
      grantType: thrown(() => clientOf({}, null)),
      repeated: thrown(() => clientOf(new URLSearchParams('client_id=a&client_id=b'), null)),
      inBoth: thrown(() => clientOf(secret, `Basic ${btoa('a:b')}`)),
      twoHeaders: thrown(() => clientOf(secret, 'Basic a, Basic b')),
      contentType: thrown(() => parametersIn('', null)),
      notJson: thrown(() => parametersIn('{', 'application/json')),
      notObject: thrown(() => clientOf([], null)),
      notString: thrown(() => clientOf({ grant_type: 1 }, null)),
    },
    401: { client: invalidClient() },
    408: { slow: bodyTooSlow(limits.bodyTimeMs) },
    413: { large: bodyTooLarge(limits.bodySize) },
    ...commonErrors('POST', oauthError),
  },
  [LIST]: apiErrors({
    unreadable: thrown(() => parseListQuery(pairsIn('page=0&filter[user_ids][]=abc'))),
    encoding: thrown(() => parseListQuery(pairsIn('filter[search]=%FF'))),
    tooLong: thrown(() => pairsIn('x'.repeat(MAX_QUERY_BYTES + 1))),
  }),
  [RETRIEVE.replace(':id', '{id}')]: { ...apiErrors({}), 404: { notFound: assessmentNotFound() } },
})

const apiErrors = (ofParameters: Errors[number]): Errors => ({
  400: {
    ...ofParameters,
    noOrganizations: unprovisioned('tenant', ''),
    noProducts: unprovisioned('product', ''),
  },
  401: { missing: invalidToken('absent'), invalid: invalidToken('presented') },
  ...commonErrors('GET', apiError),
})

const commonErrors = (method: 'GET' | 'POST', style: ErrorStyle): Errors => ({
  405: { method: methodNotAllowed(method, style) },
  500: { internal: httpErrorOf(undefined, style) },
  503: { unavailable: httpErrorOf(new DatabaseUnavailable(''), style) },
  504: { timeout: httpErrorOf(new StatementTimeout(), style) },
})

function thrown(act: () => unknown): HttpError {
  try {
    act()
  } catch (error) {
    if (error instanceof HttpError) return error
    throw error
  }
  throw new Error(`no error to show: ${act}`)
}
