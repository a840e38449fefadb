import { Elysia } from 'elysia'
import type { Logger } from 'pino'

/** What the service writes its log with. */
export type Log = Pick<Logger, 'info' | 'warn' | 'error'>

const callers = new WeakMap<Request, string>()

/** The client id that the line of a request will name. */
export function noteCaller(request: Request, clientId: string): void {
  callers.set(request, clientId)
}

/**
 * One line a request, after its answer: never a query string, which holds names and seids, and never a
 * header, which holds tokens and secrets.
 */
export function requestLog(log: Log) {
  const started = new WeakMap<Request, number>()
  return new Elysia({ name: 'request-log' })
    .onRequest(({ request }) => {
      started.set(request, performance.now())
    })
    .onAfterResponse({ as: 'global' }, context => {
      const { request, route, set } = context
      const { response } = context as { response?: unknown }
      log.info(
        {
          method: request.method,
          route: route || undefined,
          status: response instanceof Response ? response.status : set.status,
          ms: Math.round((performance.now() - (started.get(request) ?? 0)) * 10) / 10,
          client_id: callers.get(request),
        },
        'request',
      )
    })
}
