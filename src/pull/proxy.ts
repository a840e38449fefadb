import { BlockList, isIP } from 'node:net'
import { Failure } from '../errors.ts'
import { familyOf, readNetworks } from '../networks.ts'

/** A proxy, and the variable of the environment that names it. */
export interface HttpProxy {
  variable: string
  /** May have a user and a password. */
  url: string
  /** Has none: for messages. */
  origin: string
}

/** Whether a URL leads to this machine. */
export function isLoopback(url: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(url).hostname)
}

/**
 * The proxy for a URL by HTTPS_PROXY or HTTP_PROXY, ALL_PROXY and NO_PROXY, as curl understands them; none for loopback
 * addresses. `read` returns the value of a variable. @throws Failure if the proxy is of another kind
 */
export function proxyFor(url: string, read: (variable: string) => string | undefined): HttpProxy | undefined {
  const { protocol } = new URL(url)
  const variable = [protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY', 'ALL_PROXY'].find(name =>
    read(name),
  )
  if (variable === undefined || isLoopback(url) || isExempt(new URL(url), read('NO_PROXY') ?? ''))
    return undefined
  const text = read(variable) as string
  const proxy = URL.parse(text.includes('://') ? text : `http://${text}`)
  if (!proxy || !/^https?:$/.test(proxy.protocol))
    throw new Failure(
      `${variable} names no proxy that axport can use: set it to http://host:port, or name the service in NO_PROXY`,
    )
  return { variable, url: proxy.href, origin: proxy.origin }
}

/** Whether NO_PROXY has the host: "*", a domain with or without a dot, a network, and any of these with a port. */
function isExempt({ hostname, port, protocol }: URL, list: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '')
  const hostPort = `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .some(entry => {
      if (entry === '') return false
      if (entry === '*' || entry === hostPort || entry === hostname) return true
      if (isIP(host)) return networkOf(entry).check(host, familyOf(host))
      const domain = entry.replace(/^\*?\./, '').replace(/\.$/, '')
      return `.${host}`.endsWith(`.${domain}`) || `.${hostPort}`.endsWith(`.${domain}`)
    })
}

function networkOf(entry: string): BlockList {
  try {
    return readNetworks(entry)
  } catch {
    return new BlockList()
  }
}
