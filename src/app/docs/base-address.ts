import { isFromProxy } from '../exchange.ts'

/** A host name or address, with or without a port. */
const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i

/** The path below which a proxy serves the service. */
const PREFIX = /^(?:\/[\w.~-]+)*$/

/**
 * The base address of the service as the client of a request sees it: what a proxy of TRUSTED_PROXIES says of it, or the
 * address of the request. Undefined where that is no address: the page goes into a browser, and samples into a shell.
 */
export function baseAddress(request: Request): string | undefined {
  const header = (name: string) => request.headers.get(name)?.trim() || undefined
  const said = (name: string) => (isFromProxy(request) ? header(name) : undefined)
  const scheme = said('x-forwarded-proto') ?? request.url.split(':', 1)[0]
  const host = said('x-forwarded-host') ?? header('host') ?? ''
  const prefix = (said('x-forwarded-prefix') ?? '').replace(/\/+$/, '')
  const isAddress = /^https?$/.test(scheme ?? '') && HOST.test(host) && PREFIX.test(prefix)
  return isAddress ? `${scheme}://${host}${prefix}` : undefined
}
