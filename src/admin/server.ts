import { Registry } from 'prom-client'
import { type Address, listenFailure, urlOf } from '../app/address.ts'
import type { Readiness } from './readiness.ts'

/** What the operator's port shows. */
export interface AdminView {
  readiness(): Promise<Readiness>
  /** The metrics as text (Prometheus, version 0.0.4). */
  metrics(): Promise<string>
}

/** Starts the operator's server, apart from the port of integrations. @throws Failure if it cannot listen there */
export function startAdminServer(address: Address, view: AdminView) {
  try {
    const server = Bun.serve({
      hostname: address.host,
      port: address.port,
      reusePort: false,
      development: false,
      // Seconds. A request in work counts as idle too: the checks of /ready take a while.
      idleTimeout: 30,
      routes: {
        // Shows that the event loop runs. What the process depends on is left out: a restart would not mend that.
        '/live': onGet(async () => json(200, { live: true })),
        '/ready': onGet(async () => {
          const readiness = await view.readiness()
          return json(readiness.ready ? 200 : 503, readiness)
        }),
        '/metrics': onGet(async () => {
          const headers = { 'content-type': Registry.PROMETHEUS_CONTENT_TYPE, 'cache-control': 'no-store' }
          return new Response(await view.metrics(), { headers })
        }),
      },
      fetch: () => json(404, { error: 'Not found: there are /live, /ready and /metrics' }),
      error: () => json(500, { error: 'Internal server error' }),
    })
    return {
      url: urlOf({ host: address.host, port: server.port ?? address.port }),
      stop: () => server.stop(true),
    }
  } catch (error) {
    throw listenFailure(error, address)
  }
}

const onGet = (answer: () => Promise<Response>) => async (request: Request) =>
  request.method === 'GET' || request.method === 'HEAD'
    ? await answer()
    : json(405, { error: 'Use GET' }, { allow: 'GET, HEAD' })

function json(status: number, body: object, headers: Record<string, string> = {}): Response {
  return new Response(`${JSON.stringify(body)}\n`, {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store', ...headers },
  })
}
