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

/** What only some services have. Pages are read from the standby. */
interface Options {
  standby?: Standby | undefined
  /** The server speaks HTTPS. */
  isEncrypted?: boolean
}

/** Every route of the service. Paths are exact: no trailing slash. */
export const createApp = (
  db: ServingDatabase,
  limits: Limits,
  service: ServiceContext,
  { standby, isEncrypted = false }: Options = {},
) =>
  // Elysia takes for the path what follows the first slash from a fixed place of the URL: the 11th character, or, if this is
  // false, the 7th. After http:// that suits every Host. After https:// the 11th suits all but a Host of one or two letters.
  new Elysia({ strictPath: true, handler: { standardHostname: isEncrypted } })
    .use(requestLog(service))
    .mapResponse(respond)
    .use(docs(limits, db))
    .use(token(db, limits))
    .use(assessments(db, service.counters, standby))
    // The last, because the first hook that answers counts: those of the routes know the form of their errors.
    .onError(({ code, error, request }) =>
      failureAnswer(request, code === 'NOT_FOUND' ? apiError(404, 'Not found') : error, apiError),
    )
