import { apiError, type ErrorStyle, HttpError } from '../../answers.ts'
import { invalidToken, unprovisioned } from '../../assessments/access.ts'
import { assessmentNotFound } from '../../assessments/endpoints.ts'
import { MAX_QUERY_BYTES, pairsIn, sentIn } from '../../assessments/query-string.ts'
import { ListQuery } from '../../contract.ts'
import { DatabaseUnavailable, StatementTimeout } from '../../database/failures.ts'
import { type BodyLimits, bodyTooLarge, bodyTooSlow, parametersIn, refuseCoding } from '../../oauth/body.ts'
import { clientOf, invalidClient, oauthError, unsupportedGrantType } from '../../oauth/credentials.ts'
import { LIST, RETRIEVE } from '../assessments.ts'
import { httpErrorOf, methodNotAllowed } from '../errors.ts'
import { TOKEN } from '../token.ts'

/** The errors of a path by status, each with the name of its example. */
export type Errors = Record<number, Record<string, HttpError>>

const secret = { grant_type: 'client_credentials', client_secret: 'a' } as const

/** The errors of each path, made by the code that answers with them. */
export const errorsOf = (limits: BodyLimits): Record<string, Errors> => ({
  [TOKEN]: {
    400: {
      grantType: unsupportedGrantType('grant_type must be client_credentials'),
      repeated: thrown(() => parametersIn('client_id=a&client_id=b', 'application/x-www-form-urlencoded')),
      inBoth: thrown(() => clientOf(secret, `Basic ${btoa('a:b')}`)),
      twoHeaders: thrown(() => clientOf(secret, 'Basic a, Basic b')),
      contentType: thrown(() => parametersIn('', null)),
      notJson: thrown(() => parametersIn('{', 'application/json')),
      notObject: thrown(() => parametersIn('[]', 'application/json')),
      notString: thrown(() => parametersIn('{"grant_type":1}', 'application/json')),
    },
    401: { client: invalidClient() },
    408: { slow: bodyTooSlow(limits.bodyTimeMs) },
    413: { large: bodyTooLarge(limits.bodySize) },
    415: { coding: thrown(() => refuseCoding('gzip')) },
    ...commonErrors('POST', oauthError),
  },
  [LIST]: apiErrors({
    unreadable: unreadable('page=0&filter[user_ids][]=abc'),
    encoding: thrown(() => sentIn(pairsIn('filter[search]=%FF'))),
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
  ...commonErrors('GET, HEAD', apiError),
})

const commonErrors = (allow: 'GET, HEAD' | 'POST', style: ErrorStyle): Errors => ({
  405: { method: methodNotAllowed(allow, style) },
  500: { internal: httpErrorOf(undefined, style) },
  503: { unavailable: httpErrorOf(new DatabaseUnavailable(''), style) },
  504: { timeout: httpErrorOf(new StatementTimeout(), style) },
})

function unreadable(queryString: string): HttpError {
  const read = ListQuery['~standard'].validate(sentIn(pairsIn(queryString)))
  const issues = 'issues' in read ? read.issues : []
  return new HttpError(400, {
    errors: issues.map(({ message, path }) => ({ message, parameter: path.join() })),
  })
}

function thrown(act: () => unknown): HttpError {
  try {
    act()
  } catch (error) {
    if (error instanceof HttpError) return error
    throw error
  }
  throw new Error(`no error to show: ${act}`)
}
