import { type Answer, apiError } from '../answers.ts'
import { invalidToken, tokenDigestOf, unprovisioned } from '../assessments/access.ts'
import { assessmentNotFound, listAssessments, retrieveAssessment } from '../assessments/endpoints.ts'
import { MAX_QUERY_BYTES, parseListQuery } from '../assessments/query-string.ts'
import { LIST_PARAMETERS } from '../contract.ts'
import type { Counters } from '../counters.ts'
import type { ServingDatabase } from '../postgres/pool/serving-database.ts'
import type { Replicas } from '../postgres/standby/replicas.ts'
import { Disclosing } from './disclosing.ts'
import type { Endpoint, Given } from './endpoint.ts'
import { answerOf, commonErrors, type Errors, refuseOverload, thrown } from './errors.ts'
import { LastUse } from './notes.ts'
import { type Read, Reading } from './reading.ts'

export const LIST = '/api/v1/ax/assessments'
export const RETRIEVE = '/api/v1/ax/assessments/:id'

/** The two endpoints of the API. */
export function assessmentEndpoints(
  db: ServingDatabase,
  counters: Counters,
  replicas?: Replicas,
): Endpoint[] {
  const reading = new Reading(db, replicas, counters)
  const disclosing = new Disclosing(db)
  const lastUse = new LastUse(db)
  const answerBy = async (request: Request, sent: string | undefined, read: Read): Promise<Answer> => {
    const tokenDigest = tokenDigestOf(sent)
    const { pool, lane } = reading.queueOf(tokenDigest)
    refuseOverload(request, apiError, pool, lane)
    const answer = await reading
      .answer(request, tokenDigest, read)
      .catch((error: unknown) => answerOf(request, error, apiError))
    // An answer names a client only if its token is live.
    if (answer.logFields?.clientId) lastUse.note(tokenDigest)
    return await disclosing.recorded(request, answer)
  }
  const list = (request: Request, { token }: Given) =>
    answerBy(request, token, (db, memory, digest) =>
      listAssessments(db, memory, digest, queryString(request)),
    )
  const retrieve = (request: Request, { id, token }: Given) =>
    answerBy(request, token, (db, memory, digest) => retrieveAssessment(db, memory, digest, id))
  return [
    { path: LIST, method: 'GET', style: apiError, answer: list },
    { path: RETRIEVE, method: 'GET', style: apiError, answer: retrieve },
  ]
}

/** As it was sent: Elysia's parser splits at commas, reads lists in brackets, and keeps bad escapes. */
function queryString(request: Request): string {
  const start = request.url.indexOf('?')
  return start < 0 ? '' : request.url.slice(start + 1)
}

/**
 * The parameters of the list endpoint. Each filter is one of its own, with brackets in its name: the style "deepObject" does
 * not say how arrays are written (OpenAPI 3.1.1, §4.12.2). "form" with "explode", the default, repeats the name for each
 * value.
 */
export const listParameters = () =>
  Object.entries(LIST_PARAMETERS).map(([name, { schema }]) => {
    const { description = '', ...rest } = schema
    const style = schema.type === 'array' ? { style: 'form', explode: true } : {}
    return { name, in: 'query', description, ...style, schema: rest }
  })

/** The errors of the list endpoint, for its description. */
export const listErrors = () =>
  apiErrors({
    unreadable: thrown(() => parseListQuery('page=0&filter[user_ids][]=abc')),
    encoding: thrown(() => parseListQuery('filter[search]=%FF')),
    tooLong: thrown(() => parseListQuery('x'.repeat(MAX_QUERY_BYTES + 1))),
  })

/** The errors of the endpoint of one assessment. */
export const retrieveErrors = () => ({ ...apiErrors({}), 404: { notFound: assessmentNotFound() } })

const apiErrors = (ofParameters: Errors[number]): Errors => ({
  400: {
    ...ofParameters,
    noOrganizations: unprovisioned('tenant', ''),
    noProducts: unprovisioned('product', ''),
  },
  401: { missing: invalidToken('absent'), invalid: invalidToken('presented') },
  ...commonErrors('GET', apiError),
})
