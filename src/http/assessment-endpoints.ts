import { type Answer, apiError } from '../answers.ts'
import { invalidToken, tokenDigestOf, unprovisioned } from '../assessments/access.ts'
import { assessmentNotFound, listAssessments, retrieveAssessment } from '../assessments/endpoints.ts'
import { MAX_QUERY_BYTES, parseListQuery } from '../assessments/query-string.ts'
import { LIST_PARAMETERS } from '../contract.ts'
import type { ServingDatabase } from '../postgres/pool/serving-database.ts'
import type { Replicas } from '../postgres/standby/replicas.ts'
import { Disclosing } from './disclosing.ts'
import type { Endpoint, Given, Limits } from './endpoint.ts'
import { answerErrors, refuseOverload } from './errors.ts'
import { LastUse } from './notes.ts'
import examples from './openapi/examples.json'
import { commonFailures, curl, failure, success, thrown } from './openapi/responses.ts'
import type { Operation, Parameter } from './openapi/types.ts'
import { type Read, Reading } from './reading.ts'
import type { Monitor } from './request-log.ts'

export const LIST = '/api/v1/ax/assessments'
export const RETRIEVE = '/api/v1/ax/assessments/:id'

/** The two endpoints of the API. */
export function assessmentEndpoints(
  db: ServingDatabase,
  limits: Limits,
  monitor: Monitor,
  replicas?: Replicas,
): Endpoint[] {
  const reading = new Reading(db, replicas, monitor.counters)
  const disclosing = new Disclosing(db)
  const lastUse = new LastUse(db)
  const toAnswer = answerErrors(apiError, monitor)
  const answerBy = async (request: Request, sent: string | undefined, read: Read): Promise<Answer> => {
    const tokenDigest = tokenDigestOf(sent)
    const { pool, lane } = reading.queueOf(tokenDigest)
    refuseOverload(limits.requests, monitor, apiError, pool, lane)
    const answer = await reading
      .answer(request, tokenDigest, read)
      .catch((error: unknown) => toAnswer(request, error))
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
    { path: LIST, method: 'GET', toAnswer, answer: list },
    { path: RETRIEVE, method: 'GET', toAnswer, answer: retrieve },
  ]
}

/** As it was sent: Elysia's parser splits at commas, reads lists in brackets, and keeps bad escapes. */
function queryString(request: Request): string {
  const start = request.url.indexOf('?')
  return start < 0 ? '' : request.url.slice(start + 1)
}

/** The description of the list endpoint. */
export function listOperation(): Operation {
  return {
    operationId: 'listAssessments',
    tags: ['Assessments'],
    summary: 'List assessments',
    description:
      'The completed assessments in the scope of the integration, filtered, sorted, a page at a time. An empty page is a success. HEAD answers the same without the body.',
    security: [{ clientCredentials: [] }],
    'x-codeSamples': curl(
      // curl would take brackets for a range without -g.
      `curl -sg -H "Authorization: Bearer $TOKEN" \\\n'BASE_URL/api/v1/ax/assessments?page=100&offset=0&filter[start_date]=2026-01-01'`,
    ),
    parameters: Object.entries(LIST_PARAMETERS).map(([name, { schema }]) => inQuery(name, schema)),
    responses: {
      200: success('A page of assessments.', 'AssessmentList', examples.list, ['vary', 'link']),
      ...failures({
        unreadable: thrown(() => parseListQuery('page=0&filter[user_ids][]=abc')),
        encoding: thrown(() => parseListQuery('filter[search]=%FF')),
        tooLong: thrown(() => parseListQuery('x'.repeat(MAX_QUERY_BYTES + 1))),
      }),
    },
  }
}

/**
 * Each filter is a parameter of its own, with brackets in its name: the style "deepObject" does not say how arrays are
 * written (OpenAPI 3.1.1, §4.12.2). "form" with "explode", the default, repeats the name for each value.
 */
function inQuery(name: string, { description, ...schema }: Parameter['schema']): Parameter {
  const style = schema.type === 'array' ? { style: 'form', explode: true } : {}
  return { name, in: 'query', description: description ?? '', ...style, schema }
}

/** The description of the endpoint of one assessment. */
export function retrieveOperation(): Operation {
  return {
    operationId: 'retrieveAssessment',
    tags: ['Assessments'],
    summary: 'Retrieve one assessment',
    description: 'One completed assessment, as it stands in a list. HEAD answers the same without the body.',
    security: [{ clientCredentials: [] }],
    'x-codeSamples': curl(
      `curl -s -H "Authorization: Bearer $TOKEN" BASE_URL/api/v1/ax/assessments/${examples.record.id}`,
    ),
    parameters: [
      {
        name: 'id',
        in: 'path',
        required: true,
        description: 'ID of an overall assessment. The `assessment_id` of a part is not found.',
        schema: { type: 'integer', format: 'int64' },
      },
    ],
    responses: {
      200: success('The assessment.', 'AssessmentRecord', examples.record, ['vary']),
      ...failures({}),
      404: failure(
        'No assessment with that ID in the scope of the integration, or the ID of a part instead of an overall assessment.',
        { notFound: assessmentNotFound() },
      ),
    },
  }
}

const failures = (parameters: Parameters<typeof failure>[1]) => ({
  400: failure('The request cannot be answered as it is. Repeating it does not help.', {
    ...parameters,
    noOrganizations: unprovisioned('tenant', ''),
    noProducts: unprovisioned('product', ''),
  }),
  401: failure('The token is missing, malformed, expired or revoked. Get a new one and repeat the request.', {
    missing: invalidToken('absent'),
    invalid: invalidToken('presented'),
  }),
  ...commonFailures('GET', apiError),
})
