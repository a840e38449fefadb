import { Elysia } from 'elysia'
import { type Answer, apiError, ErrorsBody, HttpError, OAuthErrorBody } from '../answers.ts'
import { listAssessments, refused, retrieveAssessment } from '../assessments/endpoints.ts'
import type { ListParameters } from '../assessments/parameters.ts'
import { parseListQuery } from '../assessments/parse.ts'
import { AssessmentList, AssessmentRecord } from '../assessments/record.ts'
import type { ServingDatabase } from '../postgres/pool/serving-database.ts'
import type { Replicas } from '../postgres/standby/replicas.ts'
import { Disclosing } from './disclosing.ts'
import { answerErrors } from './error-answer.ts'
import { guard } from './guard.ts'
import { LastUse } from './last-use.ts'
import type { Limits } from './limits.ts'
import { refuseOthers, useGet } from './methods.ts'
import { Reading } from './reading.ts'
import type { Watching } from './request-log.ts'
import { respond } from './respond.ts'
import { refuseOverload } from './unavailable.ts'
import { validator } from './validator.ts'

const LIST = '/api/v1/ax/assessments'
const RETRIEVE = '/api/v1/ax/assessments/:id'

const errors = { 400: ErrorsBody, 401: OAuthErrorBody, 500: ErrorsBody, 503: ErrorsBody, 504: ErrorsBody }

/** The two endpoints of the API. */
export function assessmentRoutes(
  pool: ServingDatabase,
  limits: Limits,
  watching: Watching,
  replicas?: Replicas,
) {
  const reading = new Reading(pool, replicas, watching.counters)
  const disclosing = new Disclosing(pool)
  const lastUse = new LastUse(pool)
  /** An answer that names a client is one to a live token. */
  const noted = (tokenDigest: Buffer | undefined, answer: Answer): Answer => {
    if (tokenDigest && answer.facts?.clientId) lastUse.note(tokenDigest)
    return answer
  }
  const refuse = refuseOverload(limits, watching, apiError)
  const list = async ({ tokenDigest, query, request }: Asked & { query: ListParameters }) => {
    const answer = await reading.answer(request, tokenDigest, (db, memory) =>
      listAssessments(db, memory, tokenDigest, query, queryString(request)),
    )
    return respond(request, await disclosing.recorded(request, noted(tokenDigest, answer)))
  }
  const retrieve = async ({ tokenDigest, params, request }: Asked & { params: { id: string } }) => {
    const answer = await reading.answer(request, tokenDigest, (db, memory) =>
      retrieveAssessment(db, memory, tokenDigest, params.id),
    )
    return respond(request, await disclosing.recorded(request, noted(tokenDigest, answer)))
  }
  const errorOf = answerErrors(apiError, watching)
  const listTypes = {
    query: validator(raw => parseListQuery(String(raw))),
    response: { 200: AssessmentList, ...errors },
  }
  const retrieveTypes = { response: { 200: AssessmentRecord, ...errors, 404: ErrorsBody } }
  // HEAD has its own routes because the framework's own drops the headers of a GET.
  const guarded = new Elysia({ name: 'assessments' })
    .use(guard())
    .onTransform(({ tokenDigest }) => {
      const { pool, lane } = reading.whereabouts(tokenDigest)
      refuse(pool, lane)
    })
    .onError(async ({ error, code, request, tokenDigest }) => {
      const answerOf = (error: unknown) => errorOf({ error, code, request })
      // The query was read before anybody had looked the token up.
      const isEarly = error instanceof HttpError && error.httpStatus === 400 && !error.facts.clientId
      const answer =
        tokenDigest && isEarly
          ? await reading.answer(request, tokenDigest, db => refused(db, tokenDigest, error)).catch(answerOf)
          : answerOf(error)
      return respond(request, noted(tokenDigest, answer))
    })
    // As it was sent: the framework's own parser splits at commas, reads lists in brackets, and keeps bad escapes.
    .onTransform((context: { request: Request; query: unknown }) => {
      const { request } = context
      context.query = queryString(request)
    })
    .get(LIST, list, listTypes)
    .head(LIST, list, listTypes)
    .get(RETRIEVE, retrieve, retrieveTypes)
    .head(RETRIEVE, retrieve, retrieveTypes)
  const routes = new Elysia({ name: 'api' }).use(guarded)
  refuseOthers(routes, LIST, useGet)
  refuseOthers(routes, RETRIEVE, useGet)
  return routes
}

/** What the guard leaves of a request. */
type Asked = { tokenDigest: Buffer; request: Request }

function queryString(request: Request): string {
  const start = request.url.indexOf('?')
  return start < 0 ? '' : request.url.slice(start + 1)
}
