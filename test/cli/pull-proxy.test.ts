import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { selfSigned } from '../support/certificate.ts'
import { axport, emptyFolder, errorLine, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { type ForwardProxy, startForwardProxy } from '../support/forward-proxy.ts'
import { freePort } from '../support/free-port.ts'
import { type Front, linesOf, startFront, usePullStage } from '../support/pull.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

const stage = usePullStage()

let secure: Front
let proxy: ForwardProxy
/** Trusts the certificate of the service. */
let trusting: Record<string, string>
/** This machine under an address that is not a loopback address. */
let service: string

beforeAll(async () => {
  const certificate = selfSigned('ours', '0.0.0.0')
  secure = startFront(stage.service, certificate)
  service = secure.baseUrl.replace('127.0.0.1', '0.0.0.0')
  const authority = join(emptyFolder(), 'authority.pem')
  writeFileSync(authority, certificate.cert)
  trusting = { ...stage.env, NODE_EXTRA_CA_CERTS: authority }
  proxy = await startForwardProxy()
})
afterEach(() => {
  proxy.refusesWith = undefined
  proxy.requests = []
})
afterAll(async () => {
  proxy?.stop()
  await secure?.stop()
})

/** Pulls from the service over HTTPS with more variables. */
async function pulled(variables: Record<string, string>, baseUrl = service) {
  const out = join(emptyFolder(), 'out.ndjson')
  const args = stage.pulling(out, '--base-url', baseUrl, '--retry-for', '1s')
  return { out, finished: await axport(args, { env: { ...trusting, ...variables } }) }
}

describe('axport pull behind a proxy', () => {
  test('reads everything through HTTPS_PROXY', async () => {
    const { out, finished } = await pulled({ HTTPS_PROXY: proxy.url })
    expect(finished).toMatchObject({ code: 0, stderr: '' })
    expect(linesOf(out)).toEqual(stage.expected)
    expect(new Set(proxy.requests)).toEqual(new Set([`CONNECT ${new URL(service).host} HTTP/1.1`]))
  })

  test('names a proxy at which nothing listens, without its password, and not the service', async () => {
    const port = await freePort()
    const { finished } = await pulled({ https_proxy: `http://user:Pr0xySecret@127.0.0.1:${port}` })
    expect(errorLine(finished, 1)).toMatch(
      new RegExp(
        `^nothing listens at the proxy http://127\\.0\\.0\\.1:${port} that HTTPS_PROXY names; gave up after \\d attempts$`,
      ),
    )
  })

  test('names a proxy whose host does not exist', async () => {
    const { finished } = await pulled({ HTTPS_PROXY: 'http://nowhere.invalid:3128' })
    expect(errorLine(finished, 1)).toMatch(
      /^the host of the proxy http:\/\/nowhere\.invalid:3128 that HTTPS_PROXY names cannot be found/,
    )
  })

  test.each([
    [407, /^the proxy PROXY that HTTPS_PROXY names asks for a user and a password: write them as /],
    [
      403,
      /^the proxy PROXY that HTTPS_PROXY names answered 403, not with a connection to .*: ask who runs it$/,
    ],
    [502, /^the proxy PROXY that HTTPS_PROXY names answered 502, .*; gave up after \d attempts$/],
  ])('names a proxy that refuses with %i', async (status, message) => {
    proxy.refusesWith = status
    const { finished } = await pulled({ HTTPS_PROXY: proxy.url })
    expect(errorLine(finished, 1).replace(proxy.url, 'PROXY')).toMatch(message)
  })

  test('names the proxy of a certificate that is not trusted', async () => {
    const { finished } = await pulled({ HTTPS_PROXY: proxy.url, NODE_EXTRA_CA_CERTS: '' })
    expect(errorLine(finished, 1)).toStartWith(
      `the certificate of ${service} through the proxy ${proxy.url} that HTTPS_PROXY names is not trusted (`,
    )
  })

  test('names the proxy that refuses a service without TLS', async () => {
    proxy.refusesWith = 407
    const plain = stage.front.baseUrl.replace('127.0.0.1', '0.0.0.0')
    const { finished } = await pulled({ HTTP_PROXY: proxy.url }, plain)
    expect(finished.stderr.replace(proxy.url, 'PROXY')).toContain(
      'axport: the proxy PROXY that HTTP_PROXY names asks for a user and a password',
    )
  })

  test('reaches loopback addresses, and the hosts of NO_PROXY, without the proxy', async () => {
    const dead = `http://127.0.0.1:${await freePort()}`
    const variables = { HTTPS_PROXY: dead, HTTP_PROXY: dead, ALL_PROXY: dead }
    for (const [url, more] of [
      [stage.front.baseUrl, {}],
      [service, { NO_PROXY: '0.0.0.0' }],
    ] as const)
      expect((await pulled({ ...variables, ...more }, url)).finished).toMatchObject({ code: 0, stderr: '' })
  })
})
