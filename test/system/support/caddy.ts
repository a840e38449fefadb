import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../support/free-port.ts'
import { program } from '../../support/requires.ts'
import { type Pair, proxyFolder, proxyUrl, published, runProxy } from './published.ts'

/** Caddy from its Debian package. */
export const CADDY = program('caddy')

/** Options for several instances on one machine: no admin port, and no redirect from port 80. */
const LOCAL = '{\n\tadmin off\n\tauto_https disable_redirects\n}\n'

/** Starts Caddy in front of a service with the configuration docs/operate/Caddyfile: HTTPS, under /export/. */
export async function startCaddy({ url }: { url: string }, pair: Pair) {
  const folder = proxyFolder('caddy', pair)
  const port = await freePort()
  const file = join(folder, 'Caddyfile')
  writeFileSync(
    file,
    LOCAL +
      published('Caddyfile', [
        ['export.example.org', `https://localhost:${port}`],
        ['/etc/ssl/axport/', `${folder}/`],
        ['127.0.0.1:3000 127.0.0.1:3010', new URL(url).host],
      ]),
  )
  const command = [CADDY.name, 'run', '--adapter', 'caddyfile', '--config', file]
  return { url: proxyUrl(port, pair), stop: await runProxy(folder, command, port) }
}
