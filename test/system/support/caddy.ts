import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../support/free-port.ts'
import { program } from '../../support/requires.ts'
import { type Pair, proxyFolder, proxyUrl, published, runProxy } from './published.ts'

/** The proxy as Debian packages it. */
export const CADDY = program('caddy')

/** What is of one machine: no port for commands, and no redirect from port 80. */
const LOCAL = '{\n\tadmin off\n\tauto_https disable_redirects\n}\n'

/** Starts Caddy in front of a service as docs/operate/Caddyfile has it: HTTPS, under /export/. */
export async function startCaddy({ url, admin }: { url: string; admin: string }, pair: Pair) {
  const folder = proxyFolder('caddy', pair)
  const port = await freePort()
  const file = join(folder, 'Caddyfile')
  writeFileSync(
    file,
    LOCAL +
      published('Caddyfile', [
        ['export.example.org', `https://localhost:${port}`],
        ['/etc/ssl/axport/', `${folder}/`],
        ['127.0.0.1:3000', new URL(url).host],
        ['health_port 3001', `health_port ${new URL(admin).port}`],
      ]),
  )
  const command = [CADDY.name, 'run', '--adapter', 'caddyfile', '--config', file]
  return { url: proxyUrl(port, pair), stop: await runProxy(folder, command, port) }
}
