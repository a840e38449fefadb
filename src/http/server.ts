import http from 'node:http'
import type { Sql } from 'postgres'
import { type Counters, newCounters } from '../counters.ts'
import { type Address, listenFailure, urlOf } from './address.ts'
import { createApp } from './app.ts'
import type { Answered, Log } from './request-log.ts'

/** A server that is listening. */
export interface Server {
  /** "http://host:port", the port being the real one where 0 was asked for. */
  url: string
  /** Requests that have arrived and are not answered yet. */
  inFlight(): number
  /** From now on every answer asks its client to connect again, elsewhere (RFC 9112 §9.6). */
  drain(): void
  /**
   * Accepts nothing more and finishes what is in flight, for at most `patience` milliseconds.
   * @returns how many requests were cut then
   */
  stop(patience?: number): Promise<number>
}

/** What is told to whoever watches the requests. */
export interface ServerOptions {
  /** Milliseconds from which a request is logged as slow. */
  slowMs?: number
  counters?: Counters
  onAnswered?(answered: Answered): void
}

/** Bytes of request line and headers together; 16 KiB of query string has to fit. Bun answers 431 past it. */
const MAX_HEADER_SIZE = 64 * 1024

/** Milliseconds. A client that never finishes its own request is cut before the ten seconds that supervisors usually grant. */
const STOP_PATIENCE = 7000

/**
 * Starts the HTTP service.
 * @throws Failure when host and port can not be listened on
 */
export function startServer(db: Sql, log: Log, address: Address, options: ServerOptions = {}): Server {
  const { slowMs = Number.POSITIVE_INFINITY, counters = newCounters(), onAnswered = () => {} } = options
  let isDraining = false
  const app = createApp(db, { log, slowMs, counters, onAnswered, isDraining: () => isDraining })
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
  const inFlight = () => app.server?.pendingRequests ?? 0
  return {
    url: urlOf({ host: address.host, port: app.server?.port ?? address.port }),
    inFlight,
    drain: () => {
      isDraining = true
    },
    stop: async (patience = STOP_PATIENCE) => {
      isDraining = true
      let cut = 0
      const deadline = setTimeout(() => {
        cut = inFlight()
        app.server?.stop(true)
      }, patience)
      await app.server?.stop()
      clearTimeout(deadline)
      return cut
    },
  }
}
