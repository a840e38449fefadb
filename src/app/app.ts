import { Elysia } from 'elysia'
import { apiError } from '../answers.ts'
import type { Standby } from '../assessments/standby.ts'
import type { ServingDatabase } from '../database/pool.ts'
import { assessments } from './assessments.ts'
import { docs } from './docs.ts'
import { failureAnswer } from './errors.ts'
import type { ServiceContext } from './exchange.ts'
import type { Limits } from './limits.ts'
import { requestLog } from './request-log.ts'
import { respond } from './respond.ts'
import { token } from './token.ts'

/** Every route of the service. Paths are exact: no trailing slash. Pages are read from the standby, if there is one. */
export const createApp = (db: ServingDatabase, limits: Limits, service: ServiceContext, standby?: Standby) =>
  // Elysia looks for the path after the shortest usual host; with a Host of one to three letters it starts earlier.
  new Elysia({ strictPath: true, handler: { standardHostname: false } })
    .use(requestLog(service))
    .mapResponse(respond)
    .use(docs(limits, db))
    .use(token(db, limits))
    .use(assessments(db, service.counters, standby))
    // The last, because the first hook that answers counts: those of the routes know the form of their errors.
    .onError(({ code, error, request }) =>
      failureAnswer(request, code === 'NOT_FOUND' ? apiError(404, 'Not found') : error, apiError),
    )
