import type { BlockList } from 'node:net'
import type { Logger } from 'pino'
import type { Answer } from '../answers.ts'
import type { Counters } from '../counters.ts'
import { familyOf } from '../networks.ts'
import type { Admission } from './admission.ts'
import { bare } from './client-address.ts'
import type { SlowRefusals } from './slow-refusals.ts'

/** What the service writes its log with. */
export type Log = Pick<Logger, 'info' | 'warn' | 'error'>

/** A request that has been answered, for log and metrics. */
export interface Answered {
  /** As the route is written, never the path; undefined where there is none. */
  route: string | undefined
  status: number
  /** From its arrival to its answer, without the delay of a refusal. */
  ms: number
  records: number | undefined
  /** Bytes of the body as it was sent. */
  bytes: number
}

/** What every request of the service has in common: where it is reported, and the state that answers depend on. */
export interface ServiceContext {
  log: Log
  /** Milliseconds from which a request is slow. */
  slowMs: number
  counters: Counters
  /** Proxies whose X-Forwarded-For is believed; none where this is left out. */
  trustedProxies?: BlockList | undefined
  admission: Admission
  refusals: SlowRefusals
  /** Whether the service is about to stop, and clients are to connect elsewhere. */
  isDraining(): boolean
  onAnswered(answered: Answered): void
}

/** A request with what becomes its answer. */
export interface Exchange {
  id: string
  /** Of the client; undefined if its connection had closed before the request was read. */
  address: string | undefined
  /** Of the other end of the connection: the client, or a proxy. */
  peer: string | undefined
  /** By performance.now(). */
  started: number
  service: ServiceContext
  answer?: Answer
  bytes: number
  /** Milliseconds by which the answer was delayed: see SlowRefusals. */
  delayMs: number
}

/** By request, and not in Elysia's context: errors and disclosures are answered where there is the request alone. */
const exchanges = new WeakMap<Request, Exchange>()

/** Notes a request that has arrived. */
export function beginExchange(request: Request, exchange: Omit<Exchange, 'bytes' | 'delayMs'>): void {
  exchanges.set(request, { ...exchange, bytes: 0, delayMs: 0 })
}

/** The exchange of a request, as its log line has it, and the service that it came to. */
export function exchangeOf(request: Request): Exchange {
  const exchange = exchanges.get(request)
  if (!exchange) throw new Error('the request has not begun')
  return exchange
}

/** Whether a trusted proxy has sent the request. */
export function isFromProxy(request: Request): boolean {
  const { peer, service } = exchangeOf(request)
  return peer !== undefined && service.trustedProxies?.check(bare(peer), familyOf(bare(peer))) === true
}

/** Notes the answer to a request; returns the headers that depend on the request and the state of the service. */
export function noteAnswer(request: Request, answer: Answer, bytes: number): Record<string, string> {
  const exchange = exchangeOf(request)
  Object.assign(exchange, { answer, bytes })
  const headers = { 'x-request-id': exchange.id }
  // RFC 9112 §9.6: the client does not send another request on a connection that is about to be closed.
  return exchange.service.isDraining() || hasChunks(request) ? { ...headers, connection: 'close' } : headers
}

/**
 * Whether the body of a request is in chunks, after which there may be trailers. Bun takes trailers for another request,
 * which it answers with 400. On a connection that stays open, a proxy would give that answer to its next client.
 */
const hasChunks = ({ headers }: Request) => headers.has('transfer-encoding')
