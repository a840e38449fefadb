import http from 'node:http'
import { newCounters } from '../counters.ts'
import type { ServingDatabase } from '../postgres/pool/serving-database.ts'
import type { Replicas } from '../postgres/standby/replicas.ts'
import { type Address, freePort, listenFailure, urlOf } from './address.ts'
import { createApp } from './app.ts'
import type { Limits } from './endpoint.ts'
import type { Log, Monitor } from './request-log.ts'
import type { Certificate } from './tls.ts'

/** A server that is listening; `url` has the real port where 0 was asked for. */
export interface Server {
  url: string
  /**
   * Shows another certificate from now on. Requests in flight are finished; connections between two requests
   * are closed, and handshakes that are under way are reset: Bun's stop() knows no other way.
   */
  renew(certificate: Certificate): void
  /** Requests that have arrived and are not answered yet. */
  inFlight(): number
  /** From now on every answer asks its client to connect again, elsewhere (RFC 9112 §9.6). */
  drain(): void
  /** Accepts nothing more, finishes what is in flight, for at most `patience` milliseconds, and returns how many were cut. */
  stop(patience?: number): Promise<number>
}

/** What a server may be given beside its address and its bounds; with a certificate it speaks HTTPS. */
export interface ServerOptions
  extends Partial<Pick<Monitor, 'slowMs' | 'counters' | 'onAnswered' | 'trustedProxies'>> {
  certificate?: Certificate | undefined
  /** Standbys of the database that pages and records are read from. */
  replicas?: Replicas | undefined
}

/** Milliseconds. A client that never finishes its own request is cut before the ten seconds that supervisors usually grant. */
const STOP_PATIENCE = 7000

/**
 * Starts the HTTP service.
 * @throws Failure when host and port cannot be listened on
 */
export function startServer(
  db: ServingDatabase,
  log: Log,
  address: Address,
  limits: Limits,
  options: ServerOptions = {},
): Server {
  const { certificate, replicas, ...watched } = options
  const unwatched = { slowMs: Number.POSITIVE_INFINITY, counters: newCounters(), onAnswered: () => {} }
  let isDraining = false
  /** Those with earlier certificates, while requests are in flight there. */
  const former = new Map<Bun.Server<unknown>, Promise<void>>()
  const servers = () => [...former.keys(), ...(app.server ? [app.server] : [])]
  const inFlight = () => servers().reduce((sum, server) => sum + server.pendingRequests, 0)
  const monitor = { log, inFlight, isDraining: () => isDraining, ...unwatched, ...watched }
  const app = createApp(db, limits, monitor, replicas)
  // Bun cannot change the certificate of a server: another one takes over, on the same port.
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
  return {
    url: urlOf({ host: address.host, port: real }, certificate !== undefined),
    renew: renewed => {
      const old = app.server
      listen(real, renewed)
      if (!old) return
      const drained = old.stop().finally(() => former.delete(old))
      former.set(old, drained)
    },
    inFlight,
    drain: () => {
      isDraining = true
    },
    stop: async (patience = STOP_PATIENCE) => {
      isDraining = true
      let cut = 0
      const deadline = setTimeout(() => {
        cut = inFlight()
        for (const server of servers()) void server.stop(true)
      }, patience)
      await Promise.all([app.server?.stop(), ...former.values()])
      clearTimeout(deadline)
      return cut
    },
  }
}
