import { type BlockList, isIP } from 'node:net'
import { familyOf } from '../networks.ts'

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
export function bare(address: string): string {
  return address
    .trim()
    .replace(/^\[([^\]]*)\](?::\d+)?$/, '$1')
    .replace(/^([\d.]+):\d+$/, '$1')
    .replace(/^::ffff:(?=[\d.]+$)/i, '')
}
