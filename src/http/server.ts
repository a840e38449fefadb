import http from 'node:http'
import { Failure } from '../errors.ts'
import type { Pool } from '../postgres/pool.ts'
import { createApp } from './app.ts'
import type { Limits } from './limits.ts'
import type { Log } from './request-log.ts'
import type { Certificate } from './tls.ts'

/** A server that is listening. */
export interface Server {
  /** "http://host:port", the port being the real one where 0 was asked for. */
  url: string
  /**
   * Shows another certificate from now on. Requests in flight are finished; connections between two requests
   * are closed, and those that are in the middle of their handshake are reset: Bun's stop() knows no other way.
   */
  renew(certificate: Certificate): void
  /** Accepts nothing more, finishes what is in flight. */
  stop(): Promise<void>
}

/** Where to listen. */
export interface Address {
  host: string
  port: number
  /** Other processes of the same user listen there too, and the system deals out the connections. */
  isShared?: boolean
}

/**
 * For requests in flight when the server stops. A client that never finishes its own is cut then, early enough
 * for the ten seconds that supervisors usually grant.
 */
const STOP_PATIENCE_MS = 7_000

/**
 * Starts the HTTP service.
 * @throws Failure when host and port can not be listened on
 */
export function startServer(
  db: Pool,
  log: Log,
  address: Address,
  limits: Limits,
  certificate?: Certificate,
): Server {
  const app = createApp(db, log, limits)
  // Bun can not change the certificate of a server: another one takes over, on the same port.
  const isShared = address.isShared === true || certificate !== undefined
  const port = isShared && !address.isShared ? freePort(address) : address.port
  const listen = (port: number, tls: Certificate | undefined) => {
    // Bun has no such option for a single server: it takes the setting of node:http when one starts to listen.
    ;(http as { maxHeaderSize: number }).maxHeaderSize = limits.headerSize
    app.listen({
      hostname: address.host,
      port,
      ...(tls && { tls }),
      // Two processes that silently share a port are a mistake, unless they are workers of one service.
      reusePort: isShared,
      // Seconds. A request in work counts as idle too.
      idleTimeout: Math.ceil(limits.idle / 1000),
      // Left out, an error that escapes everything would be answered with a page of source code.
      development: false,
      // The token endpoint stops reading at its own limit and answers in its own form; nothing else reads a body.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    })
  }
  try {
    listen(port, certificate)
  } catch (error) {
    throw listenFailure(error, address)
  }
  const real = app.server?.port ?? port
  const draining = new Set<Promise<void>>()
  return {
    url: urlOf({ host: address.host, port: real }, certificate !== undefined),
    renew: renewed => {
      const old = app.server
      listen(real, renewed)
      const drained = (old?.stop() ?? Promise.resolve()).finally(() => draining.delete(drained))
      draining.add(drained)
    },
    stop: async () => {
      const deadline = setTimeout(() => app.server?.stop(true), STOP_PATIENCE_MS)
      await Promise.all([app.server?.stop(), ...draining])
      clearTimeout(deadline)
    },
  }
}

/**
 * The port of an address that nobody listens on: its own, or any one where that is 0. It is free again when
 * this returns, so whoever comes in between gets it.
 * @throws Failure when host and port can not be listened on
 */
export function freePort({ host, port }: Address): number {
  try {
    const probe = Bun.serve({ hostname: host, port, reusePort: false, fetch: () => new Response() })
    const free = probe.port ?? port
    probe.stop(true)
    return free
  } catch (error) {
    throw listenFailure(error, { host, port })
  }
}

/** "http://host:port", or https. */
export function urlOf({ host, port }: Address, isEncrypted: boolean): string {
  return `http${isEncrypted ? 's' : ''}://${host.includes(':') ? `[${host}]` : host}:${port}`
}

function listenFailure(error: unknown, { host, port }: Address): unknown {
  const { code } = error as { code?: string }
  // Bun reports a host name that can not be resolved as a port in use, too.
  if (code === 'EADDRINUSE' && canListenOn(host)) {
    return new Failure(
      `port ${port} on ${host} is in use: stop what listens there, or set PORT to another one`,
    )
  }
  if (code === 'EACCES')
    return new Failure(`port ${port} on ${host} is not permitted: set PORT to one above 1023`)
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EADDRINUSE') {
    return new Failure(
      `${host} is not an address of this machine: set HOST to one that is, or to 0.0.0.0 for all`,
    )
  }
  return error
}

/** Whether a host is this machine, by any name or address of it. */
function canListenOn(host: string): boolean {
  try {
    Bun.serve({ hostname: host, port: 0, reusePort: false, fetch: () => new Response() }).stop(true)
    return true
  } catch {
    return false
  }
}
