import { isIP } from 'node:net'
import type { Networks } from '../networks.ts'

/**
 * Who sent a request: the other end of its connection, or whom a trusted proxy there names in X-Forwarded-For. Each
 * proxy adds at the right whom it got the request from, so the right-most address that is none of a trusted proxy is
 * the client's; what stands left of that, the client may have made up.
 * @param forwarded the header
 */
export function clientAddress(peer: string, forwarded: string | null, trusted: Networks | undefined): string {
  let client = bare(peer)
  for (const entry of trusted && forwarded ? forwarded.split(',').reverse() : []) {
    const before = bare(entry.trim())
    if (!trusted?.has(client) || isIP(before) === 0) break
    client = before
  }
  return client
}

/** Without what some proxies add, brackets and a port, and as IPv4 where a socket for both versions wraps that. */
function bare(address: string): string {
  const alone = address.replace(/^\[([^\]]*)\](?::\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1')
  return alone.replace(/^::ffff:(?=[\d.]+$)/i, '')
}
