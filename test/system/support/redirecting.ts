import { TOKEN } from '../../support/http.ts'
import { json, pageOf, token } from '../../support/pull.ts'

/** Answers as the service would, so that nothing keeps a program that has followed a redirect from going on. */
const served = (path: string) => (path === TOKEN ? token() : json(pageOf([], 0, 0)))

/** Starts a host whose answer for `path` is a redirect to the same path of another host. Both note what arrives. */
export function redirecting(path: string, status: number) {
  const [redirected, arrived] = [[] as string[], [] as string[]]
  const serve = (answer: (request: Request, path: string) => Response | Promise<Response>) =>
    Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: async request => await answer(request, new URL(request.url).pathname),
    })
  const elsewhere = serve(async (request, path) => {
    arrived.push(`${request.method} ${path} ${request.headers.get('authorization')} ${await request.text()}`)
    return served(path)
  })
  const host = serve((_, asked) => {
    if (!asked.startsWith(path)) return served(asked)
    redirected.push(asked)
    const location = `http://localhost:${elsewhere.port}${asked}`
    return new Response('', { status, headers: { location } })
  })
  const stop = async () => {
    await host.stop(true)
    await elsewhere.stop(true)
  }
  return { url: `http://127.0.0.1:${host.port}`, redirected, arrived, stop }
}
