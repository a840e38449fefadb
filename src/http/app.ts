import { Elysia } from 'elysia'
import { listAssessments, retrieveAssessment } from '../assessments/endpoints.ts'
import { PageMemory } from '../assessments/page-memory.ts'
import type { Counters } from '../counters.ts'
import { issueAccessToken } from '../oauth/endpoint.ts'
import type { Pool } from '../postgres/pool.ts'
import { listTypes, retrieveTypes, tokenTypes } from './client-types.ts'
import { compressed } from './compress.ts'
import { docsRoutes } from './docs/routes.ts'
import { errorAnswer, isOfDatabase } from './error-answer.ts'
import { type Authorized, guard } from './guard.ts'
import type { Limits } from './limits.ts'
import { refuseOthers, useGet, usePost } from './methods.ts'
import { openApiRoutes } from './openapi/routes.ts'
import { logOf, requestLog, signed, type Watching } from './request-log.ts'
import { refuseOverload } from './unavailable.ts'

export const TOKEN = '/oauth/token'
const LIST = '/api/v1/ax/assessments'
const RETRIEVE = '/api/v1/ax/assessments/:id'

/** The service as a type, for clients in TypeScript (Eden). */
export type App = ReturnType<typeof createApp>

/** Every route there is. Paths are exact: no trailing slash. */
export function createApp(db: Pool, limits: Limits, watching: Watching) {
  return new Elysia({ strictPath: true })
    .use(requestLog(watching))
    .onError(({ error, code, path, set, request }) => {
      if (isOfDatabase(error)) watching.counters.databaseErrors++
      return signed(request, errorAnswer(error, code, path, set, logOf(request, watching.log)))
    })
    .use(refuseOverload(limits.requests))
    .use(tokenRoutes(db, limits))
    .use(assessmentRoutes(db, watching.counters))
    .use(openApiRoutes(limits))
    .use(limits.docs ? docsRoutes(limits) : new Elysia())
}

function tokenRoutes(db: Pool, limits: Limits) {
  return (
    new Elysia({ name: 'token' })
      // Not parsed by the framework: the errors, the limit and the precedence of both are the protocol's.
      .post(TOKEN, ({ request }) => issueAccessToken(db.during(request), request, limits), {
        parse: 'none',
        ...tokenTypes,
      })
      .use(refuseOthers(TOKEN, usePost))
  )
}

interface ListContext {
  authorized: Authorized
  request: Request
}

interface RetrieveContext extends ListContext {
  params: { id: string }
}

function assessmentRoutes(pool: Pool, counters: Counters) {
  const memory = new PageMemory(counters)
  const list = async ({ authorized, request }: ListContext) =>
    compressed(
      request,
      await authorized((caller, db) => listAssessments(db, memory, caller, queryString(request))),
    )
  const retrieve = async ({ authorized, params, request }: RetrieveContext) =>
    compressed(request, await authorized((caller, db) => retrieveAssessment(db, caller, params.id)))

  // HEAD has its own routes because the framework's own drops the headers of a GET.
  const guarded = new Elysia({ name: 'assessments' })
    .use(guard(pool))
    .get(LIST, list, listTypes)
    .head(LIST, list)
    .get(RETRIEVE, retrieve, retrieveTypes)
    .head(RETRIEVE, retrieve)

  return new Elysia({ name: 'api' })
    .use(guarded)
    .use(refuseOthers(LIST, useGet))
    .use(refuseOthers(RETRIEVE, useGet))
}

/** As it was sent: the framework's own parser splits at commas and drops repeated keys. */
function queryString(request: Request): string {
  const start = request.url.indexOf('?')
  return start < 0 ? '' : request.url.slice(start + 1)
}
