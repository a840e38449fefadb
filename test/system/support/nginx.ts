import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../support/free-port.ts'
import { program } from '../../support/requires.ts'
import { canConnect } from './connect.ts'

/** The proxy as Debian packages it. */
export const NGINX = program('nginx')

/** What its modules keep bodies in, which it makes even where nothing is kept. */
const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']

/**
 * Starts nginx in front of a service, whose paths are behind /export/ then. At its root is something else, which
 * answers everything with an empty 200.
 */
export async function startNginx(serviceUrl: string) {
  const folder = mkdtempSync(join(tmpdir(), 'axport-nginx-'))
  const port = await freePort()
  const elsewhere = join(folder, 'elsewhere.log')
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off;
master_process off;
pid ${folder}/pid;
error_log ${folder}/error.log;
events {}
http {
  access_log off;
${TEMPORARY.map(name => `  ${name}_temp_path ${folder}/${name};`).join('\n')}
  server {
    listen 127.0.0.1:${port};
    location / {
      access_log ${elsewhere};
      return 200;
    }
    location /export/ {
      proxy_pass ${serviceUrl}/;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    }
  }
}
`,
  )
  const command = ['setpriv', '--pdeathsig=TERM', NGINX.name, '-c', join(folder, 'nginx.conf')]
  const running = Bun.spawn(command, { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' })
  await canConnect(port)
  return {
    /** Where the service is. */
    url: `http://127.0.0.1:${port}/export`,
    /** Lines about requests that missed the prefix. */
    missed: () => readFileSync(elsewhere, 'utf8').split('\n').slice(0, -1),
    stop: async () => {
      running.kill()
      await running.exited
      rmSync(folder, { recursive: true })
    },
  }
}

/** Where the OpenAPI document at an address says that the service is, and where its tokens are. */
export async function describedPlaces(address: string): Promise<{ baseUrl: string; tokenUrl: string }> {
  const { servers, components } = (await (await fetch(address)).json()) as OpenApi
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
