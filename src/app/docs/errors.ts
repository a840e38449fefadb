import { apiError, type ErrorStyle, HttpError } from '../../answers.ts'
import { invalidToken, unprovisioned } from '../../assessments/access.ts'
import { assessmentNotFound } from '../../assessments/endpoints.ts'
import { ListQuery } from '../../contract.ts'
import { DatabaseUnavailable, StatementTimeout } from '../../database/failures.ts'
import { type BodyLimits, bodyTooLarge, bodyTooSlow, parametersIn, refuseCoding } from '../../oauth/body.ts'
import {
  credentialsOf,
  invalidClient,
  oauthError,
  unsupportedGrantType,
} from '../../oauth/client-credentials.ts'
import { httpErrorOf, methodNotAllowed, unreadableParameters } from '../errors.ts'
import { MAX_QUERY_BYTES, pairsIn, sentIn } from '../query-string.ts'

/** The errors of an operation by status, each with the name of its example. Made by the code that answers with them. */
export type Errors = Record<number, Record<string, HttpError>>

const FORM = 'application/x-www-form-urlencoded'
const secret = { grant_type: 'client_credentials', client_secret: 'a' } as const

export const tokenErrors = (limits: BodyLimits): Errors => ({
  400: {
    grantType: unsupportedGrantType(),
    repeated: thrown(() => parametersIn('client_id=a&client_id=b', FORM)),
    inBoth: thrown(() => credentialsOf(secret, `Basic ${btoa('a:b')}`)),
    twoHeaders: thrown(() => credentialsOf(secret, 'Basic a, Basic b')),
    contentType: thrown(() => parametersIn('', null)),
    notJson: thrown(() => parametersIn('{', 'application/json')),
    notObject: thrown(() => parametersIn('[]', 'application/json')),
    repeatedKey: thrown(() => parametersIn('{"a":1,"a":2}', 'application/json')),
    notString: thrown(() => parametersIn('{"grant_type":1}', 'application/json')),
  },
  401: { client: invalidClient() },
  408: { slow: bodyTooSlow(limits.bodyTimeMs) },
  413: { large: bodyTooLarge(limits.bodySize) },
  415: { coding: thrown(() => refuseCoding('gzip')) },
  ...commonErrors('POST', oauthError),
})

export const listErrors = (): Errors =>
  apiErrors({
    unreadable: unreadableParameters(issuesOf('page=0&filter[user_ids][]=abc')),
    encoding: thrown(() => sentIn(pairsIn('filter[search]=%FF'))),
    tooLong: thrown(() => pairsIn('x'.repeat(MAX_QUERY_BYTES + 1))),
  })

export const recordErrors = (): Errors => ({ ...apiErrors({}), 404: { notFound: assessmentNotFound() } })

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

function issuesOf(queryString: string) {
  const read = ListQuery['~standard'].validate(sentIn(pairsIn(queryString)))
  if ('value' in read) throw new Error('no issue to show')
  return read.issues
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
