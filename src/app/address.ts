import { Failure } from '../errors.ts'

/** Where to listen. */
export interface Address {
  host: string
  port: number
  /** Before HOST and PORT in the names of the two settings, for messages. */
  prefix?: string
  /** Other processes of the same user may listen there, too. */
  isShared?: boolean
}

function tryPort(host: string, port: number): number {
  const probe = Bun.serve({ hostname: host, port, reusePort: false, fetch: () => new Response() })
  // A stopped server has no port any more.
  const free = probe.port ?? port
  void probe.stop(true)
  return free
}

/** "http://host:port", or https. Bun takes "*" for every address, and an IPv6 address in brackets. */
export function urlOf({ host, port }: Address, isEncrypted = false): string {
  const address = host === '*' ? '::' : host.replace(/^\[(.*)\]$/, '$1')
  return `http${isEncrypted ? 's' : ''}://${address.includes(':') ? `[${address}]` : address}:${port}`
}

/** The one-line error for an address that cannot be listened on; an unknown error comes back as it is. */
export function listenFailure(error: unknown, { host, port, prefix = '' }: Address): unknown {
  const { code = '' } = error as { code?: string }
  if (code === 'EACCES')
    return new Failure(`port ${port} on ${host} is not permitted: set ${prefix}PORT to one above 1023`)
  if (/^(EMFILE|ENFILE|ENOMEM)$/.test(code)) return error
  // For a host name that cannot be resolved, Bun reports whatever error the process had last: the code says nothing.
  if (!canListenOn(host))
    return new Failure(`${host} is not an address of this machine: set ${prefix}HOST to one, or to 0.0.0.0`)
  if (code === 'EADDRINUSE')
    return new Failure(`port ${port} on ${host} is in use: stop its listener, or set another ${prefix}PORT`)
  return error
}

/** Checks that an address can be listened on, now or once its present listener has ended. @throws Failure */
export function requireAddress(address: Address): void {
  const { host, port } = address
  try {
    tryPort(host, port)
  } catch (error) {
    const isInUse = (error as { code?: string }).code === 'EADDRINUSE' && canListenOn(host)
    if (!isInUse) throw listenFailure(error, address)
  }
}

/** Whether a host is this machine, by any of its names or addresses. */
function canListenOn(host: string): boolean {
  try {
    return tryPort(host, 0) > 0
  } catch {
    return false
  }
}
