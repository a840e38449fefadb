import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../support/free-port.ts'
import { program } from '../../support/requires.ts'
import { type Pair, proxyFolder, proxyUrl, published, runProxy } from './published.ts'

/** nginx from its Debian package. */
export const NGINX = program('nginx')

/** The modules whose folders for temporary files nginx creates in any case. */
const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']

/**
 * Starts nginx in front of a service with the configuration docs/operate/nginx.conf: under /export/, and with HTTPS if
 * `pair` is given.
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
      ['    server 127.0.0.1:3010 max_fails=0;\n', ''],
      ['listen 443 ssl', `listen 127.0.0.1:${port}${pair ? ' ssl' : ''}`],
      pair ? certificate : none,
    ]),
  )
  const options = ['-g', 'daemon off; master_process off;']
  return {
    /** The base URL of the service behind nginx. */
    url: proxyUrl(port, pair),
    /** The log lines of requests without the prefix. */
    missed: () =>
      readFileSync(join(folder, 'axport.log'), 'utf8')
        .split('\n')
        .slice(0, -1)
        .filter(line => /"[A-Z]+ (?!\/export\/)/.test(line)),
    stop: await runProxy(folder, [NGINX.name, ...options, '-c', join(folder, 'nginx.conf')], port),
  }
}

/** The base URL of the service and the token URL in the OpenAPI document at `address`. */
export async function documentedUrls(
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
