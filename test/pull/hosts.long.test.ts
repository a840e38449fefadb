import { afterAll, afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { dirname } from 'node:path'
import { Failure } from '../../src/errors.ts'
import { selfSigned } from '../support/certificate.ts'
import { cleanUp } from '../support/executable.ts'
import {
  ANY_CREDENTIALS,
  type Front,
  json,
  outputIn,
  type PullOptions,
  pullFrom,
  record,
  startServer,
  startStub,
  token,
} from '../support/pull.ts'

setDefaultTimeout(60_000)
afterAll(cleanUp)

const servers: { stop(): unknown }[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop()
})

let out: string
beforeEach(() => {
  out = outputIn()
  writeFileSync(out, 'earlier')
})

/**
 * The error of a pull from a host, which must be one line. The earlier output must stay, with nothing beside
 * it.
 */
async function errorOf(baseUrl: string, options: PullOptions = {}): Promise<string> {
  const error = await pullFrom(baseUrl, ANY_CREDENTIALS, out, {
    timeoutMs: 500,
    retryForMs: 1,
    ...options,
  }).then(
    () => undefined,
    error => error,
  )
  expect(error).toBeInstanceOf(Failure)
  expect(readFileSync(out, 'utf8')).toBe('earlier')
  expect(readdirSync(dirname(out))).toEqual(['out.ndjson'])
  const { message } = error as Failure
  expect(message).not.toMatch(/[\n\r]/)
  expect(message).not.toContain(ANY_CREDENTIALS.clientSecret)
  return message
}

/** Starts a TCP server that calls a function with the first bytes of each connection. */
async function tcp(answer: (socket: Socket, request: string) => void): Promise<string> {
  const server: Server = createServer(socket => {
    socket.on('error', () => {})
    socket.on('data', bytes => answer(socket, bytes.toString()))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  servers.push({ stop: () => server.close() })
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`
}

/** Starts an HTTP server with one answer for all requests. */
function http(answer: Parameters<typeof startServer>[0], tls?: ReturnType<typeof selfSigned>): Front {
  const server = startServer(answer, tls)
  servers.push(server)
  return server
}

const html = (status: number) => () =>
  new Response('<html>Sign in</html>', { status, headers: { 'content-type': 'text/html' } })
/** Starts a service with a given answer to list requests. */
const listing = (answer: (request: Request) => Response) =>
  http((request, { pathname }) => (pathname === '/oauth/token' ? token() : answer(request)))

describe('a pull fails with one line if the host', () => {
  test('has an unknown name', async () => {
    expect(await errorOf('http://nowhere.invalid')).toMatch(
      /^the host of http:\/\/nowhere.invalid cannot be found/,
    )
  })

  test('does not speak HTTP', async () => {
    const url = await tcp(socket => socket.end('SSH-2.0-OpenSSH_9.9\r\n'))
    expect(await errorOf(url)).toBe(
      `${url} does not speak that protocol: check http:// or https://, and the port`,
    )
  })

  test('sends endless headers', async () => {
    const url = await tcp(socket =>
      socket.write(`HTTP/1.1 200 OK\r\n${`x: ${'y'.repeat(1000)}\r\n`.repeat(1000)}`),
    )
    expect(await errorOf(url)).toBe(
      `${url} does not speak that protocol: check http:// or https://, and the port`,
    )
  })

  test.each([200, 403, 404])('answers HTML with status %i', async status => {
    const { baseUrl: url } = http(html(status))
    expect(await errorOf(url)).toBe(
      status === 200
        ? `${url}/oauth/token answered text/html, not JSON: is that the base URL of an axport?`
        : `${url}/oauth/token answered ${status}: is that the base URL of an axport?`,
    )
  })

  test('answers JSON without a token', async () => {
    const { baseUrl: url } = http(() => Response.json(['hello']))
    expect(await errorOf(url)).toBe(
      `${url}/oauth/token answered without a token: is ${url} the base URL of an axport?`,
    )
  })

  test('speaks only TLS', async () => {
    const url = http(token, selfSigned('nobody')).baseUrl.replace('https', 'http')
    expect(await errorOf(url)).toBe(
      `${url} closed the connection, as a port for https:// does; gave up after 1 attempt`,
    )
  })

  test('does not speak TLS', async () => {
    const { baseUrl } = http(token)
    expect(await errorOf(baseUrl.replace('http', 'https'))).toMatch(
      /does not speak that protocol: check http:\/\/ or https:\/\/, and the port$/,
    )
  })
})

describe('a redirect', () => {
  test.each([301, 302, 303, 307, 308])(
    'with status %i sends neither secret nor token to another host',
    async status => {
      const other = http(token)
      const { baseUrl: url } = http(
        () => new Response('', { status, headers: { location: `${other.baseUrl}/oauth/token?x=1` } }),
      )
      expect(await errorOf(url)).toBe(
        `${url}/oauth/token redirects to ${other.baseUrl}, where the secret must not go: this network may want a login first; if the service has moved, ask its operator for the address`,
      )
      expect([other.tokens, other.lists]).toEqual([0, []])
    },
  )

  test('of the list sends no token to another host', async () => {
    const other = http(token)
    const { baseUrl: url } = listing(() => Response.redirect(`${other.baseUrl}/elsewhere`))
    expect(await errorOf(url)).toContain(`redirects to ${other.baseUrl}`)
    expect([other.tokens, other.lists]).toEqual([0, []])
  })

  test.each([
    ['http://portal.example/login', 'redirects to http://portal.example, where the secret must not go: '],
    ['https://portal.example/login', 'redirects to https://portal.example, where the secret must not go: '],
    ['https://127.0.0.1/oauth/token', 'redirects to https://127.0.0.1: give --base-url with https://'],
    ['/elsewhere', 'redirects to ORIGIN: check the path of --base-url'],
    ['http://[', 'redirects, where the secret must not go: '],
  ])('to %s recommends no address but that of the same host', async (location, message) => {
    const { baseUrl: url } = http(() => new Response('', { status: 302, headers: { location } }))
    expect(await errorOf(url)).toStartWith(`${url}/oauth/token ${message.replace('ORIGIN', url)}`)
  })
})

test('a network that wants a login first is named', async () => {
  expect(await errorOf(http(html(511)).baseUrl)).toBe(
    'the network asks for a login before it lets requests through (511)',
  )
})

const REFUSED = 'the service refuses the client id or its secret: check both, or ask its operator'

describe('a service that refuses', () => {
  test.each([
    [401, { error: 'invalid_client' }, REFUSED],
    [400, { error: 'x', error_description: 'Say\nmore' }, 'the service refused: Say more (status 400)'],
  ])('a token with status %i is reported in one line', async (status, body, message) => {
    expect(await errorOf(http(() => Response.json(body, { status })).baseUrl)).toBe(message)
  })

  test.each([
    [
      'an empty scope',
      'Invalid or missing tenant ids',
      /^the service refused: Invalid or missing tenant ids; its operator has to attach/,
    ],
    [
      'a parameter',
      'filter[user_ids] must be a whole number',
      /^the service refused: filter\[user_ids\] must be a whole number \(status 400\)$/,
    ],
    ['a very long message', 'x'.repeat(9999), /^the service refused: x{300} \(status 400\)$/],
  ])('a list because of %s is reported in one line', async (_, message, expected) => {
    const { baseUrl: url } = listing(() => Response.json({ errors: [{ message }] }, { status: 400 }))
    expect(await errorOf(url)).toMatch(expected)
  })

  test.each([414, 431])('a list with %i (too long) is reported with advice', async status => {
    const { baseUrl: url } = listing(() => new Response('<html>', { status }))
    expect(await errorOf(url)).toBe(
      `${url}/api/v1/ax/assessments answered ${status}, the request is too long: give the filters fewer values`,
    )
  })

  test('with a Retry-After longer than --retry-for ends the pull immediately', async () => {
    const { baseUrl: url } = http(() => new Response('', { status: 503, headers: { 'retry-after': '3600' } }))
    expect(await errorOf(url, { retryForMs: 300_000 })).toBe(
      `${url}/oauth/token answered 503, and asks to come back in 3600 s; gave up after 1 attempt`,
    )
  })
})

describe('a service that fails', () => {
  test('in the middle of a list leaves the earlier file and nothing beside it', async () => {
    const stub = startStub(Array.from({ length: 250 }, (_, index) => record(index)))
    servers.push(stub)
    stub.hook = n => {
      if (n === 2) void stub.stop()
    }
    expect(await errorOf(stub.baseUrl)).toEndWith('; gave up after 1 attempt')
    expect(stub.lists.length).toBe(2)
  })

  test('to answer, or to end an answer, is reported after the timeout', async () => {
    const silent = await tcp(() => {})
    expect(await errorOf(silent)).toBe(
      `${silent} did not finish an answer within 0.5 s; gave up after 1 attempt`,
    )
    const dripping = await tcp(socket => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9999\r\n\r\n{')
      const drip = setInterval(() => socket.write(' '), 50)
      socket.on('close', () => clearInterval(drip))
    })
    expect(await errorOf(dripping)).toContain('did not finish an answer within 0.5 s')
  })

  test.each([
    ['{"data":[{"id":1},', 'it is not JSON'],
    ['{"data":[{"id":1', 'it is not JSON'],
    ['[]', 'data is no array'],
    ['{"data":[],"meta":{]}', 'JSON'],
  ])('with the invalid body %s is reported with the offset', async (body, reason) => {
    const { baseUrl: url } = listing(() => json(body))
    const message = await errorOf(url, { timeoutMs: 20_000 })
    expect(message).toStartWith('the service sent no page of assessments at offset 0 (')
    expect(message).toContain(reason)
  })
})
