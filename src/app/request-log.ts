import { type BlockList, isIP } from 'node:net'
import { Elysia } from 'elysia'
import type { Logger } from 'pino'
import type { Answer } from '../answers.ts'
import type { Counters } from '../counters.ts'
import { familyOf } from '../networks.ts'
import type { Admission } from './admission.ts'
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

/** Where the service reports its requests, and the state that its answers depend on. */
export interface Monitor {
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

interface Exchange {
  id: string
  /** Of the client; undefined if its connection had closed before the request was read. */
  address: string | undefined
  /** Of the other end of the connection: the client, or a proxy. */
  peer: string | undefined
  /** By performance.now(). */
  started: number
  monitor: Monitor
  answer?: Answer
  bytes: number
  /** Milliseconds by which the answer was delayed: see SlowRefusals. */
  delayMs: number
}

/** By request, and not in Elysia's context: errors and disclosures are answered where there is the request alone. */
const exchanges = new WeakMap<Request, Exchange>()

/** The id of a request, the address of its client and its arrival, as its log line has them, and where it is reported. */
export function originOf(request: Request): Exchange {
  const exchange = exchanges.get(request)
  if (!exchange) throw new Error('the request is unknown to the request log')
  return exchange
}

/** Whether a trusted proxy has sent the request. */
export function isFromProxy(request: Request): boolean {
  const { peer, monitor } = originOf(request)
  return peer !== undefined && monitor.trustedProxies?.check(bare(peer), familyOf(bare(peer))) === true
}

/** Notes the answer to a request; returns the headers that depend on the request and the state of the service. */
export function noteAnswer(request: Request, answer: Answer, bytes: number): Record<string, string> {
  const exchange = originOf(request)
  Object.assign(exchange, { answer, bytes })
  const headers = { 'x-request-id': exchange.id }
  // RFC 9112 §9.6: the client does not send another request on a connection that is about to be closed.
  return exchange.monitor.isDraining() ? { ...headers, connection: 'close' } : headers
}

/** One line a request, after its answer; without query string, path and headers, which contain names, seids and secrets. */
export function requestLog(monitor: Monitor) {
  return new Elysia({ name: 'request-log' })
    .onRequest(({ request, server }) => {
      const id = requestId(request.headers.get('x-request-id'))
      const peer = server?.requestIP(request)?.address
      const forwarded = request.headers.get('x-forwarded-for')
      const address = peer && clientAddress(peer, forwarded, monitor.trustedProxies)
      const started = performance.now()
      exchanges.set(request, { id, address, peer, started, monitor, bytes: 0, delayMs: 0 })
    })
    .onAfterResponse({ as: 'global' }, ({ request, route }) => {
      const exchange = exchanges.get(request)
      if (exchange?.answer) report(request.method, route || undefined, exchange, exchange.answer)
    })
}

function report(method: string, route: string | undefined, exchange: Exchange, answer: Answer): void {
  const { monitor, started, delayMs, id: request_id, address } = exchange
  const { status, logFields = {} } = answer
  const { clientId: client_id, refused, withheld } = logFields
  const ms = Math.round((performance.now() - started - delayMs) * 10) / 10
  const records = method === 'HEAD' ? undefined : logFields.records
  const bytes = method === 'HEAD' ? 0 : exchange.bytes
  monitor.onAnswered({ route, status, ms, records, bytes })
  const about = { request_id, address, client_id, method, route, status, ms, records, bytes }
  const slow = ms >= monitor.slowMs || undefined
  monitor.log[slow ? 'warn' : 'info']({ ...about, refused, withheld, slow }, 'request')
}

/** Letters, digits and what is common in trace ids: nothing that could break a log, a header or a page. */
const PLAIN_ID = /^[A-Za-z0-9._-]{1,64}$/

/** The form of our own tokens and secrets, which a client may put in the wrong place. */
const CREDENTIAL = /^[A-Za-z0-9]{43}$/

/** The id of a request: its X-Request-Id if that is plain text and no credential, or a new one. */
export function requestId(given: string | null): string {
  return given !== null && PLAIN_ID.test(given) && !CREDENTIAL.test(given) ? given : crypto.randomUUID()
}

/** The right-most address that is no trusted proxy. Each proxy appends its peer's; a client may have invented others. */
export function clientAddress(peer: string, forwarded: string | null, trusted?: BlockList): string {
  let client = bare(peer)
  // No further than to the client: anybody may send a header of 64 KB.
  for (let rest = forwarded ?? ''; trusted?.check(client, familyOf(client)); ) {
    const start = rest.lastIndexOf(',')
    const previous = bare(rest.slice(start + 1))
    if (isIP(previous) === 0) break
    client = previous
    rest = rest.slice(0, Math.max(0, start))
  }
  return client
}

/** Without the brackets and the port that some proxies add, and as IPv4 if a dual-stack socket wraps that. */
function bare(address: string): string {
  return address
    .trim()
    .replace(/^\[([^\]]*)\](?::\d+)?$/, '$1')
    .replace(/^([\d.]+):\d+$/, '$1')
    .replace(/^::ffff:(?=[\d.]+$)/i, '')
}
