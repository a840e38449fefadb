import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../support/free-port.ts'
import { program } from '../../support/requires.ts'
import { canConnect } from './connect.ts'

/** The balancer as Debian packages it. */
export const HAPROXY = program('haproxy')

interface Backend {
  url: string
  /** Where its health is asked for. */
  admin: string
}

/** Starts HAProxy in front of services, each as long as GET /ready on its other port says 200. */
export async function startHaproxy(backends: Backend[]) {
  const folder = mkdtempSync(join(tmpdir(), 'axport-haproxy-'))
  const [port, stats] = [await freePort(), await freePort()]
  const server = ({ url, admin }: Backend, at: number) =>
    `  server s${at} ${new URL(url).host} check port ${new URL(admin).port} inter 100ms fall 1 rise 1`
  writeFileSync(
    join(folder, 'haproxy.cfg'),
    `defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
  timeout check 5s
frontend front
  bind 127.0.0.1:${port}
  default_backend axport
backend axport
  option httpchk GET /ready
${backends.map(server).join('\n')}
frontend stats
  bind 127.0.0.1:${stats}
  stats enable
  stats uri /
`,
  )
  const stop = await run(folder, port)
  return {
    url: `http://127.0.0.1:${port}`,
    /** What it says of each service, as "UP". */
    states: async () => {
      const csv = await (await fetch(`http://127.0.0.1:${stats}/;csv`)).text()
      const lines = csv.split('\n').map(line => line.split(','))
      const status = lines[0]?.indexOf('status') ?? -1
      return lines.filter(([, name]) => /^s\d/.test(name ?? '')).map(line => line[status])
    },
    stop,
  }
}

/** Runs the configuration in a folder until it takes connections; how it is stopped. */
async function run(folder: string, port: number): Promise<() => Promise<void>> {
  const command = ['setpriv', '--pdeathsig=TERM', HAPROXY.name, '-db', '-f', join(folder, 'haproxy.cfg')]
  const running = Bun.spawn(command, { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' })
  await canConnect(port)
  return async () => {
    running.kill()
    await running.exited
    rmSync(folder, { recursive: true })
  }
}

/** Starts HAProxy in front of a server on a port, to which it leads those alone who ask for it by a name (SNI). */
export async function startHaproxyByName(name: string, serverPort: number) {
  const folder = mkdtempSync(join(tmpdir(), 'axport-haproxy-'))
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
