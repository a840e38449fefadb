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

  test('says that the proxy does not connect, without its password', async () => {
    proxy.refusesWith = 403
    const named = proxy.url.replace('//', '//user:Pr0xySecret@')
    const { finished } = await pulled({ HTTPS_PROXY: named })
    expect(errorLine(finished, 1)).toMatch(
      new RegExp(
        `^the proxy of the environment does not connect to ${service}: see HTTPS_PROXY; gave up after \\d attempts$`,
      ),
    )
  })

  test('names the proxy that asks for a password before a service without TLS', async () => {
    proxy.refusesWith = 407
    const plain = stage.front.baseUrl.replace('127.0.0.1', '0.0.0.0')
    const { finished } = await pulled({ HTTP_PROXY: proxy.url }, plain)
    expect(finished.stderr).toContain('axport: the proxy asks for a user and a password: ')
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
