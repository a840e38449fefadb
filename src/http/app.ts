import { Elysia } from 'elysia'
import { apiError } from '../answers.ts'
import type { ServingDatabase } from '../postgres/pool/serving-database.ts'
import type { Replicas } from '../postgres/standby/replicas.ts'
import { assessmentRoutes } from './assessment-routes.ts'
import { docsRoutes } from './docs/routes.ts'
import { answerErrors } from './error-answer.ts'
import type { Limits } from './limits.ts'
import { openApiRoutes } from './openapi/routes.ts'
import { RefusalNotes } from './refusals.ts'
import { requestLog, type Watching } from './request-log.ts'
import { respond } from './respond.ts'
import { tokenRoutes } from './token-routes.ts'
import { refuseOverload } from './unavailable.ts'

/** The service as a type, for clients in TypeScript (Eden). */
export type App = ReturnType<typeof createApp>

/** Every route there is. Paths are exact: no trailing slash. Pages and records are read from `replicas`, where there are such. */
export function createApp(db: ServingDatabase, limits: Limits, watching: Watching, replicas?: Replicas) {
  const answerOf = answerErrors(apiError, watching)
  const refuse = refuseOverload(limits, watching, apiError)
  // The framework looks for the path past the shortest usual host; with a Host of one to three letters it starts earlier.
  return (
    new Elysia({ strictPath: true, handler: { standardHostname: false } })
      .use(requestLog(watching, new RefusalNotes(db)))
      .use(tokenRoutes(db, limits, watching))
      .use(assessmentRoutes(db, limits, watching, replicas))
      // Of what follows, and of paths without a route: those above shape their own errors.
      .onError(({ error, code, request }) => respond(request, answerOf({ error, code, request })))
      .onTransform(() => refuse())
      .use(openApiRoutes(limits))
      .use(limits.docs === 'off' ? new Elysia() : docsRoutes(limits))
  )
}
