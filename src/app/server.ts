import http from 'node:http'
import type { Standby } from '../assessments/standby.ts'
import { Counters } from '../counters.ts'
import type { ServingDatabase } from '../database/pool.ts'
import { type Address, listenFailure, urlOf } from './address.ts'
import { Admission } from './admission.ts'
import { createApp } from './app.ts'
import type { Log, ServiceContext } from './exchange.ts'
import type { Limits } from './limits.ts'
import { SlowRefusals } from './slow-refusals.ts'
import type { Certificate } from './tls.ts'

/** With a certificate the server speaks HTTPS. Pages are read from the standby, if there is one. */
type ServerOptions = Partial<
  Pick<ServiceContext, 'slowMs' | 'counters' | 'onAnswered' | 'trustedProxies'>
> & {
  certificate?: Certificate | undefined
  standby?: Standby | undefined
}

/** Of TLS 1.2: suites with forward secrecy and authenticated encryption alone (RFC 9325 §4.2). TLS 1.3 has no others. */
const CIPHERS = 'ECDHE+AESGCM:ECDHE+CHACHA20'

/** Starts the HTTP service. @throws Failure when host and port cannot be listened on */
export function startHttpServer(
  db: ServingDatabase,
  log: Log,
  address: Address,
  limits: Limits,
  { certificate, standby, ...options }: ServerOptions = {},
) {
  let isDraining = false
  const refusals = new SlowRefusals()
  const inFlight = () => (app.server?.pendingRequests ?? 0) - refusals.delayed
  const service: ServiceContext = {
    log,
    isDraining: () => isDraining,
    admission: new Admission(limits.requests, inFlight),
    refusals,
    slowMs: Number.POSITIVE_INFINITY,
    counters: new Counters(),
    onAnswered: () => {},
    ...options,
  }
  const app = createApp(db, limits, service, { standby, isEncrypted: certificate !== undefined })
  // Bun has no such option for a single server: it takes the setting of node:http when one starts to listen.
  ;(http as { maxHeaderSize: number }).maxHeaderSize = limits.headerSize
  try {
    app.listen({
      hostname: address.host,
      port: address.port,
      ...(certificate && { tls: { cert: certificate.cert, key: certificate.key, ciphers: CIPHERS } }),
      reusePort: address.isShared === true,
      // Seconds. A request in work counts as idle too.
      idleTimeout: Math.ceil(limits.idleMs / 1000),
      // Without it Bun answers an error that escapes with a page of source code.
      development: false,
      // The token endpoint has its own limit and its own form of the error; nothing else reads a body.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    })
  } catch (error) {
    throw listenFailure(error, address)
  }
  const port = app.server?.port ?? address.port
  return {
    /** With the real port if the address had 0. */
    url: urlOf({ host: address.host, port }, certificate !== undefined),
    /** Requests that have arrived and are not answered yet, without delayed refusals. */
    inFlight,
    /** From now on every answer asks its client to connect again, elsewhere (RFC 9112 §9.6). */
    drain(): void {
      isDraining = true
    },
    /** Accepts no more, finishes requests for at most `timeoutMs`, returns how many were cut. Service managers grant 10 s. */
    async stop(timeoutMs = 7000): Promise<number> {
      isDraining = true
      refusals.stop()
      let cut = 0
      const deadline = setTimeout(() => {
        cut = inFlight()
        void app.server?.stop(true)
      }, timeoutMs)
      await app.server?.stop()
      clearTimeout(deadline)
      return cut
    },
  }
}
