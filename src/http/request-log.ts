import { Elysia } from 'elysia'
import type { Logger } from 'pino'
import type { Answer } from '../answers.ts'
import type { Counters } from '../counters.ts'
import type { Networks } from '../networks.ts'
import { clientAddress } from './client-address.ts'
import type { RefusalNotes } from './refusals.ts'
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
  /** Proxies whose X-Forwarded-For is believed; none where this is left out. */
  trustedProxies?: Networks | undefined
  /** Requests that have arrived and are not answered yet. */
  inFlight(): number
  /** Whether the service is about to stop, and clients are to connect elsewhere. */
  isDraining(): boolean
  onAnswered(answered: Answered): void
}

interface Exchange {
  id: string
  /** Of the client; undefined when it is gone before anybody asked. */
  address: string | undefined
  started: number
  watching: Watching
  answer?: Answer
  bytes: number
}

const exchanges = new WeakMap<Request, Exchange>()

/** A log whose lines name the request that they are about. */
export function logOf(request: Request, log: Log): Log {
  const request_id = exchanges.get(request)?.id
  const to = (level: keyof Log) => (details: object, message?: string) =>
    log[level]({ request_id, ...details }, message)
  return { info: to('info'), warn: to('warn'), error: to('error') } as Log
}

/** Who a request is from, as its log line says it, and when it came, by performance.now(). */
export function askerOf(request: Request): Pick<Exchange, 'id' | 'address' | 'started'> {
  const exchange = exchanges.get(request)
  if (!exchange) throw new Error('a request that nobody has taken note of')
  return exchange
}

/**
 * Takes note of the answer to a request, with the bytes of its body as it is sent.
 * @returns the headers that depend on the request and the state of the service
 */
export function noteAnswer(request: Request, answer: Answer, bytes: number): Record<string, string> {
  const exchange = exchanges.get(request)
  if (!exchange) return {}
  exchange.answer = answer
  exchange.bytes = bytes
  const headers = { 'x-request-id': exchange.id }
  // RFC 9112 §9.6: the client does not send another request on a connection that is about to be closed.
  return exchange.watching.isDraining() ? { ...headers, connection: 'close' } : headers
}

/** One line a request, after its answer; without query string, path and headers, which hold names, seids and secrets. */
export function requestLog(watching: Watching, refusals: RefusalNotes) {
  return new Elysia({ name: 'request-log' })
    .onRequest(({ request, server }) => {
      const id = requestId(request.headers.get('x-request-id'))
      const peer = server?.requestIP(request)?.address
      const forwarded = request.headers.get('x-forwarded-for')
      const address = peer && clientAddress(peer, forwarded, watching.trustedProxies)
      exchanges.set(request, { id, address, started: performance.now(), watching, bytes: 0 })
    })
    .onAfterResponse({ as: 'global' }, ({ request, route }) => {
      const exchange = exchanges.get(request)
      if (!exchange?.answer) return
      report(request, route || undefined, exchange, exchange.answer)
      noteRefusals(refusals, exchange.answer)
    })
}

function report(request: Request, route: string | undefined, exchange: Exchange, answer: Answer): void {
  const { watching, started, id, address } = exchange
  const { status, facts = {} } = answer
  const isHead = request.method === 'HEAD'
  const ms = Math.round((performance.now() - started) * 10) / 10
  const records = isHead ? undefined : facts.records
  const bytes = isHead ? 0 : exchange.bytes
  const isSlow = ms >= watching.slowMs
  watching.onAnswered({ route, status, ms, records, bytes })
  const { method } = request
  const about = {
    request_id: id,
    address,
    client_id: facts.clientId,
    method,
    route,
    status,
    ms,
    records,
    bytes,
  }
  const { refused, resembled, withheld } = facts
  const why = { refused, withheld, resembled: resembled?.length ? resembled : undefined }
  watching.log[isSlow ? 'warn' : 'info']({ ...about, ...why, slow: isSlow || undefined }, 'request')
}

/** For axport integration show, of an integration that is known to be that one. */
function noteRefusals(refusals: RefusalNotes, { facts = {} }: Answer): void {
  const { clientId, refused = [], resembled = [] } = facts
  const said = [...refused, ...resembled.map(name => `no effect: a parameter that resembles ${name}`)]
  if (clientId && said.length > 0) refusals.note(clientId, said)
}
