import { Elysia } from 'elysia'
import type { Logger } from 'pino'
import { factsOf } from '../answers.ts'
import type { Counters } from '../counters.ts'
import { requestId } from './request-id.ts'

/** What the service writes its log with. */
export type Log = Pick<Logger, 'info' | 'warn' | 'error'>

/** A request that has been answered, as log and metrics see it. */
export interface Answered {
  /** As the route is written, never the path; undefined where there is none. */
  route: string | undefined
  status: number
  /** From its arrival to its answer. */
  ms: number
  /** Records of the export that were sent. */
  records: number | undefined
  /** Bytes of the body as it was sent. */
  bytes: number
}

/** Who watches the requests. */
export interface Watching {
  log: Log
  /** Milliseconds from which a request is slow. */
  slowMs: number
  counters: Counters
  /** Whether the service is about to stop, and clients are to connect elsewhere. */
  isDraining(): boolean
  onAnswered(answered: Answered): void
}

interface Exchange {
  id: string
  started: number
  watching: Watching
  clientId?: string
  answer?: Response
  /** Read before the answer is sent: Bun takes the header of some away then. */
  bytes: number
}

const exchanges = new WeakMap<Request, Exchange>()

/** The client id that the line of a request will name. */
export function noteCaller(request: Request, clientId: string): void {
  const exchange = exchanges.get(request)
  if (exchange) exchange.clientId = clientId
}

/** A log whose lines name the request that they are about. */
export function logOf(request: Request, log: Log): Log {
  const request_id = exchanges.get(request)?.id
  const to = (level: keyof Log) => (details: object, message?: string) =>
    log[level]({ request_id, ...details }, message)
  return { info: to('info'), warn: to('warn'), error: to('error') } as Log
}

/** Puts the headers on an answer that depend on the request and the state of the service. */
export function signed(request: Request, answer: Response): Response {
  const exchange = exchanges.get(request)
  if (!exchange) return answer
  exchange.answer = answer
  exchange.bytes = Number(answer.headers.get('content-length') ?? 0)
  answer.headers.set('x-request-id', exchange.id)
  // RFC 9112 §9.6: the client does not send another request on a connection that is about to be closed.
  if (exchange.watching.isDraining()) answer.headers.set('connection', 'close')
  return answer
}

/**
 * One line a request, after its answer: never a query string or a path, which hold names and seids, and
 * never a header, which holds tokens and secrets. Answers that are thrown have to be `signed` by whoever
 * turns errors into answers.
 */
export function requestLog(watching: Watching) {
  return new Elysia({ name: 'request-log' })
    .onRequest(({ request }) => {
      const id = requestId(request.headers.get('x-request-id'))
      exchanges.set(request, { id, started: performance.now(), watching, bytes: 0 })
    })
    .onAfterHandle({ as: 'global' }, ({ request, response }) => {
      if (response instanceof Response) signed(request, response)
    })
    .onAfterResponse({ as: 'global' }, ({ request, route }) => {
      const exchange = exchanges.get(request)
      if (exchange?.answer) report(request, route || undefined, exchange, exchange.answer)
    })
}

function report(request: Request, route: string | undefined, exchange: Exchange, answer: Response): void {
  const { watching, started, id } = exchange
  const facts = factsOf(answer)
  const isHead = request.method === 'HEAD'
  const ms = Math.round((performance.now() - started) * 10) / 10
  const records = isHead ? undefined : facts.records
  const bytes = isHead ? 0 : exchange.bytes
  const { status } = answer
  const isSlow = ms >= watching.slowMs
  watching.onAnswered({ route, status, ms, records, bytes })
  watching.log[isSlow ? 'warn' : 'info'](
    {
      request_id: id,
      client_id: exchange.clientId ?? facts.clientId,
      method: request.method,
      route,
      status,
      ms,
      records,
      bytes,
      slow: isSlow || undefined,
    },
    'request',
  )
}
