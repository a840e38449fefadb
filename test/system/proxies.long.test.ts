import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { selfSigned } from '../support/certificate.ts'
import { axport, cleanUp, emptyFolder } from '../support/executable.ts'
import { assessment, range, world } from '../support/fixtures.ts'
import { get, LIST, type ListBody, successful, tokenRequest } from '../support/http.ts'
import { documents, linesOf } from '../support/pull.ts'
import { requires } from '../support/requires.ts'
import { type Served, serveWith, whileBlocked } from '../support/served.ts'
import { authorize, load, startService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { CADDY, startCaddy } from './support/caddy.ts'
import { HAPROXY, startHaproxy } from './support/haproxy.ts'
import { documentedUrls, NGINX, startNginx } from './support/nginx.ts'
import { floodWithTrailers } from './support/trailers.ts'

setDefaultTimeout(120_000)

const pair = selfSigned('localhost')
/** fetch() options that trust the certificate of the proxy. */
const trusting = { tls: { ca: pair.cert } } as RequestInit

/** A running proxy. `missed` returns its log lines of requests without the prefix, if the proxy has such a log. */
interface Proxy {
  url: string
  missed?(): string[]
  stop(): Promise<void>
}

/** The proxies, each with its configuration from docs/operate. `hasLimits`: it counts connections by address. */
const PROXIES = [
  {
    requirement: NGINX,
    hasLimits: true,
    start: (served: Served): Promise<Proxy> => startNginx(served.url, pair),
  },
  {
    requirement: HAPROXY,
    hasLimits: true,
    start: (served: Served): Promise<Proxy> => startHaproxy([served], pair),
  },
  {
    requirement: CADDY,
    hasLimits: false,
    start: (served: Served): Promise<Proxy> => startCaddy(served, pair),
  },
]

let service: TestService
let served: Served
let client: Awaited<ReturnType<typeof authorize>>
beforeAll(async () => {
  service = await startService()
  await load(service.sql, [...world(), ...range(250, index => assessment(index + 1))])
  client = await authorize(service, [10], [1])
  served = await serveWith([], {
    DATABASE_URL: service.url,
    ADMIN_PORT: '0',
    TRUSTED_PROXIES: '127.0.0.1',
  })
})
afterAll(async () => {
  await cleanUp()
  await service?.close()
})

for (const { requirement, hasLimits, start } of PROXIES)
  requires(requirement).describe(`behind ${requirement.name}, with HTTPS, under a path prefix,`, () => {
    let proxy: Proxy
    beforeAll(async () => {
      proxy = await start(served)
    })
    afterAll(async () => {
      expect(proxy?.missed?.() ?? []).toEqual([])
      await proxy?.stop()
    })

    test('the OpenAPI document has the public URLs of the service and of the token endpoint', async () => {
      const { baseUrl, tokenUrl } = await documentedUrls(`${proxy.url}/openapi.json`, trusting)
      expect(baseUrl).toBe(proxy.url)
      const body = new URLSearchParams(tokenRequest(client))
      const issued = await fetch(tokenUrl, { method: 'POST', body, ...trusting })
      expect(await issued.json()).toMatchObject({ token_type: 'Bearer' })
    })

    test('each page has a working link to the next one', async () => {
      const ids: number[] = []
      let next: string | undefined = `${proxy.url}${LIST}?page=100`
      while (next) {
        const answer = await get(next, client.token, '', trusting)
        const { data } = successful(answer) as ListBody
        ids.push(...data.map(({ id }) => id))
        const [, link] = /^<(.*)>; rel="next"$/.exec(answer.headers.get('link') ?? '') ?? []
        next = link && new URL(link, next).href
      }
      expect(ids).toEqual(Array.from({ length: 250 }, (_, index) => index + 1))
    })

    test('the reference page shows the public base address, and finds everything that it links', async () => {
      const page = await (await fetch(`${proxy.url}/docs`, trusting)).text()
      expect(/Base address: <code>(.*?)<\/code>/.exec(page)?.[1]).toBe(proxy.url)
      const addresses = [...page.matchAll(/(?:href|src)="([^"#]+)"/g)].map(([, address = '']) => address)
      expect(addresses).not.toBeEmpty()
      for (const address of addresses) {
        const { status } = await fetch(new URL(address, `${proxy.url}/docs`), trusting)
        expect([address, status]).toEqual([address, 200])
      }
    })

    test('a query string of nearly 16 KiB reaches the service, which refuses a longer one', async () => {
      const ids = (bytes: number) => 'filter[user_ids][]=1&'.repeat(Math.floor(bytes / 21))
      expect((await get(proxy.url, client.token, `${LIST}?${ids(16_000)}`, trusting)).status).toBe(200)
      const { status, body } = await get(proxy.url, client.token, `${LIST}?${ids(17_000)}`, trusting)
      expect([status, Object.keys(body as object)]).toEqual([400, ['errors']])
    })

    const storm = async () => {
      const headers = { authorization: `Bearer ${client.token}`, connection: 'close' }
      const statuses: (number | 'closed')[] = []
      let asked: Promise<unknown>[] = []
      await whileBlocked(service.sql, async () => {
        asked = Array.from({ length: 80 }, () =>
          fetch(proxy.url + LIST, { ...trusting, headers }).then(
            answer => statuses.push(answer.status),
            () => statuses.push('closed'),
          ),
        )
        await until('16 are refused', () => statuses.length >= 16)
        expect(statuses.filter(status => status === 429 || status === 'closed')).toHaveLength(16)
      })
      await Promise.all(asked)
      expect(statuses.filter(status => status === 200)).toHaveLength(64)
    }
    if (hasLimits) test('of 80 requests of one address at a time, 64 are answered', storm)

    test('a flood of requests with trailers fails no request of another client', async () => {
      const flood = floodWithTrailers(proxy.url, pair.cert)
      const statuses: number[] = []
      while (flood.answered() < 1000 || statuses.length < 200) {
        statuses.push((await get(proxy.url, client.token, LIST, trusting)).status)
        await Bun.sleep(2)
      }
      await flood.stop()
      expect(new Set(statuses)).toEqual(new Set([200]))
    })

    test('a pull reads every record', async () => {
      const folder = emptyFolder()
      const [out, authority] = [join(folder, 'out.ndjson'), join(folder, 'authority.pem')]
      writeFileSync(authority, pair.cert)
      const env = { AXPORT_CLIENT_SECRET: client.clientSecret, NODE_EXTRA_CA_CERTS: authority }
      const options = ['--base-url', proxy.url, '--client-id', client.clientId, '--out', out]
      expect(await axport(['pull', ...options], { env })).toMatchObject({ code: 0 })
      expect(linesOf(out)).toEqual(await documents(service))
    })
  })
