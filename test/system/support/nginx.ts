import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../support/free-port.ts'
import { program } from '../../support/requires.ts'
import { type Pair, proxyFolder, proxyUrl, published, runProxy } from './published.ts'

/** The proxy as Debian packages it. */
export const NGINX = program('nginx')

/** What its modules keep bodies in, which it makes even where nothing is kept. */
const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']

/**
 * Starts nginx in front of a service as docs/operate/nginx.conf has it: under /export/, with HTTPS where it is given a
 * pair.
 */
export async function startNginx(serviceUrl: string, pair?: Pair) {
  const folder = proxyFolder('nginx', pair)
  const port = await freePort()
  const temporary = TEMPORARY.map(name => `  ${name}_temp_path ${folder}/${name};\n`).join('')
  const certificate = ['/etc/ssl/axport/', `${folder}/`] as const
  const none = [
    '    ssl_certificate /etc/ssl/axport/cert.pem;\n    ssl_certificate_key /etc/ssl/axport/key.pem;\n',
    '',
  ] as const
  writeFileSync(
    join(folder, 'nginx.conf'),
    published('nginx.conf', [
      ['/run/nginx.pid', `${folder}/pid`],
      ['/var/log/nginx', folder],
      ['http {\n', `http {\n${temporary}`],
      ['127.0.0.1:3000', new URL(serviceUrl).host],
      ['listen 443 ssl', `listen 127.0.0.1:${port}${pair ? ' ssl' : ''}`],
      pair ? certificate : none,
    ]),
  )
  const options = ['-g', 'daemon off; master_process off;']
  return {
    /** Where the service is. */
    url: proxyUrl(port, pair),
    /** Lines about requests that missed the prefix. */
    missed: () =>
      readFileSync(join(folder, 'axport.log'), 'utf8')
        .split('\n')
        .slice(0, -1)
        .filter(line => !/"[A-Z]+ \/export\//.test(line)),
    stop: await runProxy(folder, [NGINX.name, ...options, '-c', join(folder, 'nginx.conf')], port),
  }
}

/** Where the OpenAPI document at an address says that the service is, and where its tokens are. */
export async function describedPlaces(
  address: string,
  init: RequestInit = {},
): Promise<{ baseUrl: string; tokenUrl: string }> {
  const { servers, components } = (await (await fetch(address, init)).json()) as OpenApi
  const { tokenUrl } = components.securitySchemes.clientCredentials.flows.clientCredentials
  const [server] = servers
  return {
    baseUrl: new URL(server?.url ?? '', address).href.replace(/\/$/, ''),
    tokenUrl: new URL(tokenUrl, address).href,
  }
}

interface OpenApi {
  servers: { url: string }[]
  components: {
    securitySchemes: { clientCredentials: { flows: { clientCredentials: { tokenUrl: string } } } }
  }
}
