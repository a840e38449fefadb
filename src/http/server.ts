import http from 'node:http'
import type { Sql } from 'postgres'
import { Failure } from '../errors.ts'
import { createApp } from './app.ts'
import type { Log } from './request-log.ts'

/** A server that is listening. */
export interface Server {
  /** "http://host:port", the port being the real one where 0 was asked for. */
  url: string
  /** Accepts nothing more, finishes what is in flight. */
  stop(): Promise<void>
}

/** Bytes of request line and headers together; 16 KiB of query string has to fit. Bun answers 431 past it. */
const MAX_HEADER_SIZE = 64 * 1024

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
export function startServer(db: Sql, log: Log, address: Address): Server {
  const app = createApp(db, log)
  // Bun has no such option for a single server: it takes the setting of node:http when one starts to listen.
  ;(http as { maxHeaderSize: number }).maxHeaderSize = MAX_HEADER_SIZE
  try {
    app.listen({
      hostname: address.host,
      port: address.port,
      // Two processes that silently share a port are a mistake, unless they are workers of one service.
      reusePort: address.isShared === true,
      // Left out, an error that escapes everything would be answered with a page of source code.
      development: false,
      // The token endpoint stops reading at its own limit and answers in its own form; nothing else reads a body.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    })
  } catch (error) {
    throw listenFailure(error, address)
  }
  return {
    url: urlOf({ host: address.host, port: app.server?.port ?? address.port }),
    stop: async () => {
      const deadline = setTimeout(() => app.server?.stop(true), STOP_PATIENCE_MS)
      await app.server?.stop()
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

/** "http://host:port" */
export function urlOf({ host, port }: Address): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
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
