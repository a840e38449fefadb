import { Elysia } from 'elysia'
import type { Answer } from '../answers.ts'
import { SECRET_LENGTH } from '../random.ts'
import { clientAddress } from './client-address.ts'
import { beginExchange, type Exchange, exchangeOf, type ServiceContext } from './exchange.ts'

/** One line a request, after its answer; without query string, path and headers, which contain names, seids and secrets. */
export function requestLog(service: ServiceContext) {
  return new Elysia({ name: 'request-log' })
    .onRequest(({ request, server }) => {
      const id = requestId(request.headers.get('x-request-id'))
      const peer = server?.requestIP(request)?.address
      const forwarded = request.headers.get('x-forwarded-for')
      const address = peer && clientAddress(peer, forwarded, service.trustedProxies)
      beginExchange(request, { id, address, peer, started: performance.now(), service })
    })
    .onAfterResponse({ as: 'global' }, ({ request, route }) => {
      const exchange = exchangeOf(request)
      if (exchange.answer) report(request.method, route || undefined, exchange, exchange.answer)
    })
}

function report(method: string, route: string | undefined, exchange: Exchange, answer: Answer): void {
  const { service, started, delayMs, id: request_id, address } = exchange
  const { status, logFields = {} } = answer
  const { clientId: client_id, refused, withheld } = logFields
  const ms = Math.round((performance.now() - started - delayMs) * 10) / 10
  const records = method === 'HEAD' ? undefined : logFields.records
  const bytes = method === 'HEAD' ? 0 : exchange.bytes
  service.onAnswered({ route, status, ms, records, bytes })
  const about = { request_id, address, client_id, method, route, status, ms, records, bytes }
  const slow = ms >= service.slowMs || undefined
  service.log[slow ? 'warn' : 'info']({ ...about, refused, withheld, slow }, 'request')
}

/** Letters, digits and what is common in trace ids: nothing that could break a log, a header or a page. */
const PLAIN_ID = /^[A-Za-z0-9._-]{1,64}$/

/**
 * What a client may make an id of, and no log may have: a text as long as our tokens and secrets, or an IPv4 address. An
 * address of IPv6 or of mail has characters that no id has.
 */
const REVEALING = new RegExp(`[A-Za-z0-9]{${SECRET_LENGTH}}|\\d{1,3}(?:\\.\\d{1,3}){3}`)

/** The id of a request: its X-Request-Id if that is plain and reveals nothing, or a new one. */
export function requestId(given: string | null): string {
  return given !== null && PLAIN_ID.test(given) && !REVEALING.test(given) ? given : crypto.randomUUID()
}
