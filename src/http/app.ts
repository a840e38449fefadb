import { Elysia } from 'elysia'
import { apiError } from '../answers.ts'
import type { ServingDatabase } from '../postgres/pool/serving-database.ts'
import type { Replicas } from '../postgres/standby/replicas.ts'
import { assessmentEndpoints } from './assessment-endpoints.ts'
import { docsEndpoints } from './docs/endpoints.ts'
import { type Limits, mount } from './endpoint.ts'
import { answerErrors, refuseOverload } from './errors.ts'
import { guard } from './guard.ts'
import { RefusalNotes } from './notes.ts'
import { openApiDocument } from './openapi/document.ts'
import { type Monitor, requestLog } from './request-log.ts'
import { respond } from './respond.ts'
import { tokenEndpoint } from './token-endpoint.ts'

/** Every route of the service. Paths are exact: no trailing slash. Pages and records are read from `replicas`, if any. */
export function createApp(db: ServingDatabase, limits: Limits, monitor: Monitor, replicas?: Replicas) {
  const toAnswer = answerErrors(apiError, monitor)
  // Elysia looks for the path after the shortest usual host; with a Host of one to three letters it starts earlier.
  const app = new Elysia({ strictPath: true, handler: { standardHostname: false } })
  app.use(requestLog(monitor, new RefusalNotes(db)))
  app.onError(({ error, code, request }) =>
    respond(request, toAnswer(request, code === 'NOT_FOUND' ? apiError(404, 'Not found') : error)),
  )
  const refuse = () => refuseOverload(limits.requests, monitor, apiError)
  const guarded = new Elysia({ name: 'assessments' }).use(guard())
  for (const endpoint of assessmentEndpoints(db, limits, monitor, replicas)) mount(guarded, endpoint)
  app.use(guarded)
  const endpoints = [
    tokenEndpoint(db, limits, monitor),
    ...docsEndpoints(limits, () => openApiDocument(limits), refuse, toAnswer),
  ]
  for (const endpoint of endpoints) mount(app, endpoint)
  return app
}
