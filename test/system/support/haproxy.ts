import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../support/free-port.ts'
import { program } from '../../support/requires.ts'
import { type Pair, proxyFolder, proxyUrl, published, runProxy } from './published.ts'

/** HAProxy from its Debian package. */
export const HAPROXY = program('haproxy')

interface Backend {
  url: string
  /** The base URL of the health checks. */
  admin: string
}

/** The server lines of the published file, which the test replaces or removes. */
const SERVERS = [
  { published: '  server one 127.0.0.1:3000 check port 3001\n', name: 'one' },
  { published: '  server two 127.0.0.1:3010 check port 3011\n', name: 'two' },
]

/**
 * Starts HAProxy in front of services with the configuration docs/operate/haproxy.cfg: under /export/, each service
 * while GET /ready on its admin port answers 200, and with HTTPS if `pair` is given. Health checks are more frequent
 * than in the file.
 */
export async function startHaproxy(backends: Backend[], pair?: Pair) {
  const folder = proxyFolder('haproxy', pair)
  const [port, stats] = [await freePort(), await freePort()]
  const servers = SERVERS.map(({ published, name }, at) => {
    const backend = backends[at]
    if (!backend) return [published, ''] as const
    const [{ host }, admin] = [new URL(backend.url), new URL(backend.admin)]
    return [published, `  server ${name} ${host} check port ${admin.port}\n`] as const
  })
  const text = published('haproxy.cfg', [
    ...servers,
    ['inter 2s fall 2', 'inter 100ms fall 1'],
    pair
      ? ['bind :443 ssl crt /etc/ssl/axport/', `bind 127.0.0.1:${port} ssl crt ${folder}/`]
      : ['bind :443 ssl crt /etc/ssl/axport/both.pem alpn h2,http/1.1', `bind 127.0.0.1:${port}`],
  ])
  const seen = ['frontend stats', `  bind 127.0.0.1:${stats}`, '  stats enable', '  stats uri /', '']
  writeFileSync(join(folder, 'haproxy.cfg'), [text, ...seen].join('\n'))
  return {
    url: proxyUrl(port, pair),
    /** The state of each service in HAProxy, such as "UP". */
    states: async () => {
      const csv = await (await fetch(`http://127.0.0.1:${stats}/;csv`)).text()
      const lines = csv.split('\n').map(line => line.split(','))
      const status = lines[0]?.indexOf('status') ?? -1
      return lines
        .filter(([, name]) => SERVERS.some(server => server.name === name))
        .map(line => line[status])
    },
    stop: await run(folder, port),
  }
}

/** Starts HAProxy with the configuration in a folder, waits for the port, and returns a function that stops HAProxy. */
const run = (folder: string, port: number) =>
  runProxy(folder, [HAPROXY.name, '-db', '-f', join(folder, 'haproxy.cfg')], port)

/** Starts HAProxy in front of a server. HAProxy passes only TLS connections with this server name (SNI). */
export async function startHaproxyByName(name: string, serverPort: number) {
  const folder = proxyFolder('haproxy')
  const port = await freePort()
  writeFileSync(
    join(folder, 'haproxy.cfg'),
    `defaults
  mode tcp
  timeout connect 5s
  timeout client 30s
  timeout server 30s
frontend front
  bind 127.0.0.1:${port}
  tcp-request inspect-delay 5s
  tcp-request content accept if { req_ssl_hello_type 1 }
  use_backend named if { req_ssl_sni -i ${name} }
backend named
  server s0 127.0.0.1:${serverPort}
`,
  )
  return { port, stop: await run(folder, port) }
}
