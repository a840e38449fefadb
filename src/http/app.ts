import { bearer } from '@elysiajs/bearer'
import { Elysia } from 'elysia'
import { apiError } from '../answers.ts'
import type { ServingDatabase } from '../postgres/pool/serving-database.ts'
import type { Replicas } from '../postgres/standby/replicas.ts'
import { assessmentEndpoints } from './assessment-endpoints.ts'
import { docsEndpoints } from './docs/endpoints.ts'
import { type Limits, mount } from './endpoint.ts'
import { answerOf } from './errors.ts'
import { RefusalNotes } from './notes.ts'
import { type Monitor, requestLog } from './request-log.ts'
import { respond } from './respond.ts'
import { tokenEndpoint } from './token-endpoint.ts'

/** Every route of the service. Paths are exact: no trailing slash. Pages and records are read from `replicas`, if any. */
export function createApp(db: ServingDatabase, limits: Limits, monitor: Monitor, replicas?: Replicas) {
  // Elysia looks for the path after the shortest usual host; with a Host of one to three letters it starts earlier.
  const app = new Elysia({ strictPath: true, handler: { standardHostname: false } })
  app.use(requestLog(monitor, new RefusalNotes(db)))
  app.onError(({ error, code, request }) =>
    respond(request, answerOf(request, code === 'NOT_FOUND' ? apiError(404, 'Not found') : error, apiError)),
  )
  // The plugin would take a token from the query too (RFC 9700 §4.3.2): under a name that nobody can know it finds none.
  const unguessable = crypto.randomUUID()
  const guarded = new Elysia({ name: 'assessments' })
    .derive(({ headers }) => {
      // RFC 9110 §11.1: the scheme is case-insensitive, and ends with a blank. The plugin compares "Bearer" and no more.
      const [, token] = /^bearer +(.*)$/i.exec(headers.authorization ?? '') ?? []
      headers.authorization = token && `Bearer ${token}`
    })
    .use(bearer({ extract: { header: 'Bearer', query: unguessable, body: unguessable } }))
  for (const endpoint of assessmentEndpoints(db, monitor.counters, replicas)) mount(guarded, endpoint)
  app.use(guarded)
  for (const endpoint of [tokenEndpoint(db, limits), ...docsEndpoints(limits)]) mount(app, endpoint)
  return app
}
