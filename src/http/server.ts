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

/**
 * Starts the HTTP service.
 * @throws Failure when host and port can not be listened on
 */
export function startServer(db: Sql, log: Log, address: { host: string; port: number }): Server {
  const app = createApp(db, log)
  // Bun has no such option for a single server: it takes the setting of node:http when one starts to listen.
  ;(http as { maxHeaderSize: number }).maxHeaderSize = MAX_HEADER_SIZE
  try {
    app.listen({
      hostname: address.host,
      port: address.port,
      // Two processes that silently share a port are a mistake, not a cluster.
      reusePort: false,
      // Left out, an error that escapes everything would be answered with a page of source code.
      development: false,
      // The token endpoint stops reading at its own limit and answers in its own form; nothing else reads a body.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    })
  } catch (error) {
    throw listenFailure(error, address)
  }
  const host = address.host.includes(':') ? `[${address.host}]` : address.host
  return {
    url: `http://${host}:${app.server?.port}`,
    stop: async () => {
      await app.server?.stop()
    },
  }
}

function listenFailure(error: unknown, { host, port }: { host: string; port: number }): unknown {
  const { code } = error as { code?: string }
  if (code === 'EADDRINUSE') {
    return new Failure(
      `port ${port} on ${host} is in use: stop what listens there, or set PORT to another one`,
    )
  }
  if (code === 'EACCES')
    return new Failure(`port ${port} on ${host} is not permitted: set PORT to one above 1023`)
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return new Failure(
      `${host} is not an address of this machine: set HOST to one that is, or to 0.0.0.0 for all`,
    )
  }
  return error
}
