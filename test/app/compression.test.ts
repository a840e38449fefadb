import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readAcceptEncoding } from '../../src/app/respond.ts'
import { assessment, range, world } from '../support/fixtures.ts'
import { LIST, TOKEN, tokenRequest } from '../support/http.ts'
import { dial, exchange } from '../support/raw.ts'
import { authorize, load, startService, type TestService } from '../support/service.ts'

type Acceptance = ReturnType<typeof readAcceptEncoding>

const none: Acceptance = { coding: undefined, plain: true }
const gzip: Acceptance = { coding: 'gzip', plain: true }
const zstd: Acceptance = { coding: 'zstd', plain: true }

describe('Accept-Encoding', () => {
  test.each<[expected: Acceptance, headers: (string | null)[]]>([
    [none, [null, '', ' ', ',', 'deflate, br', 'identity', 'gzipped, zstandard']],
    [gzip, ['gzip', 'GZip', 'x-gzip', 'gzip, deflate, br', 'gzip;q=0.001', 'identity, gzip']],
    [gzip, ['gzip;q=1.0, zstd;q=0.5', 'identity;q=0.5, gzip']],
    [zstd, ['zstd', 'gzip, deflate, br, zstd', 'zstd;q=0.5, gzip;q=0.5', 'gzip;q=0, zstd']],
    [
      none,
      ['gzip;q=0', 'gzip;q=0.000', 'identity, gzip;q=0.5', 'zstd;q=0, gzip;q=0, *', '*;q=0', 'identity;q=0'],
    ],
    [gzip, ['zstd;q=0, *', 'gzip, *;q=0, identity;q=0.1']],
    [zstd, ['*']],
    [{ coding: 'gzip', plain: false }, ['gzip, *;q=0', 'gzip, identity;q=0']],
    [{ coding: 'zstd', plain: false }, ['identity;q=0, *']],
    // A coding with an invalid weight is ignored.
    [none, ['gzip;q=abc']],
  ])('means %j for each of %j', (expected, headers) => {
    expect(headers.map(readAcceptEncoding)).toEqual(headers.map(() => expected))
  })
})

describe('A compressed answer', () => {
  let service: TestService
  let client: Awaited<ReturnType<typeof authorize>>

  beforeAll(async () => {
    service = await startService()
    await load(service.sql, [...world(), ...range(60, at => assessment(9000 + at))])
    client = await authorize(service, [10], [1])
  })
  afterAll(() => service?.close())

  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') => {
    const sent = { authorization: `Bearer ${client.token}`, 'x-request-id': 'same', ...headers }
    const lines = Object.entries(sent).map(([name, value]) => `${name}: ${value}`)
    return exchange(service.baseUrl, [`${method} ${path} HTTP/1.1`, ...lines])
  }

  test.each([
    ['gzip', (body: Buffer<ArrayBuffer>) => Bun.gunzipSync(body)],
    ['zstd', (body: Buffer<ArrayBuffer>) => Bun.zstdDecompressSync(body)],
  ] as const)('in %s decompresses to exactly the plain answer', async (coding, decompress) => {
    const plain = await get(`${LIST}?page=50`)
    const answer = await get(`${LIST}?page=50`, { 'accept-encoding': coding })
    expect(answer.status).toBe(200)
    expect(Buffer.from(decompress(answer.body)).toString()).toBe(plain.body.toString())
    expect(JSON.parse(plain.body.toString()).data).toHaveLength(50)
    expect(answer.body.length).toBeLessThan(plain.body.length / 4)
    // The plain answer is so large that its body is a stream, of which Bun has to know the length.
    expect(plain.headers.get('content-length')).toBe(String(plain.body.length))
    expect(Object.fromEntries(answer.headers)).toEqual({
      ...Object.fromEntries(plain.headers),
      date: expect.any(String),
      'content-encoding': coding,
      'content-length': String(answer.body.length),
    })
  })

  test('and a plain one have Vary: Accept-Encoding once, for HEAD as for GET', async () => {
    for (const path of [LIST, `${LIST}?page=1`, `${LIST}/9000`]) {
      for (const accepted of ['gzip', 'zstd', 'identity', 'br', '']) {
        const head = await get(path, { 'accept-encoding': accepted }, 'HEAD')
        const { headers } = await get(path, { 'accept-encoding': accepted })
        expect([path, accepted, headers.get('vary')]).toEqual([path, accepted, 'Accept-Encoding'])
        // A single record is too small to be compressed.
        const isCompressed = path === LIST && ['gzip', 'zstd'].includes(accepted)
        expect(headers.has('content-encoding')).toBe(isCompressed)
        expect(headers.get('cache-control')).toBe('private, no-store')
        expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
        expect(head.body.length).toBe(0)
        expect(withoutDate(head.headers)).toEqual(withoutDate(headers))
      }
    }
  })

  test('has a large body, or goes to a client that refuses plain bodies', async () => {
    const small = await get(`${LIST}/9000`, { 'accept-encoding': 'gzip' })
    expect(small.headers.has('content-encoding')).toBe(false)
    expect(JSON.parse(small.body.toString())).toMatchObject({ id: 9000 })
    const refused = await get(`${LIST}/9000`, { 'accept-encoding': 'gzip, identity;q=0' })
    expect(refused.headers.get('content-encoding')).toBe('gzip')
    expect(Buffer.from(Bun.gunzipSync(refused.body)).toString()).toBe(small.body.toString())
  })

  test('is never an error, nor an answer of the token endpoint', async () => {
    const everything = { 'accept-encoding': 'gzip, zstd, identity;q=0' }
    for (const [path, status] of [
      [`${LIST}/1`, 404],
      [`${LIST}?page=abc`, 400],
      ['/nothing', 404],
      [TOKEN, 405],
    ] as const) {
      const answer = await get(path, everything)
      expect([path, answer.status]).toEqual([path, status])
      expect(answer.headers.has('content-encoding')).toBe(false)
      expect(answer.headers.has('vary')).toBe(false)
      JSON.parse(answer.body.toString())
    }
    const answer = await fetch(`${service.baseUrl}${TOKEN}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'accept-encoding': 'gzip, zstd' },
      body: JSON.stringify(tokenRequest(client)),
    })
    expect([answer.status, answer.headers.get('content-encoding')]).toEqual([200, null])
  })

  test('is not sent to HTTP/1.0, which has no chunks: a large body has its length there too', async () => {
    const expected = (await get(`${LIST}?page=50`)).body.toString()
    const connection = dial(service.baseUrl)
    connection.write(
      `GET ${LIST}?page=50 HTTP/1.0\r\nhost: x\r\nauthorization: Bearer ${client.token}\r\n\r\n`,
    )
    const [head = '', body] = (await connection.toEnd()).toString().split('\r\n\r\n')
    expect(head.toLowerCase()).not.toContain('transfer-encoding')
    expect(head).toContain(`Content-Length: ${Buffer.byteLength(expected)}`)
    expect(body).toBe(expected)
  })

  test('leaves its connection usable for a hundred requests, including HEAD and errors', async () => {
    const bearer = `Authorization: Bearer ${client.token}`
    const cycle: [request: string[], status: number][] = [
      [[`GET ${LIST}?page=20 HTTP/1.1`, bearer, 'Accept-Encoding: gzip'], 200],
      [[`HEAD ${LIST} HTTP/1.1`, bearer, 'Accept-Encoding: gzip'], 200],
      [[`GET ${LIST} HTTP/1.1`], 401],
      [[`GET ${LIST}/1 HTTP/1.1`, bearer], 404],
      [[`POST ${LIST} HTTP/1.1`, 'Content-Length: 0'], 405],
      [[`GET ${LIST}?page=20&offset=40 HTTP/1.1`, bearer], 200],
    ]
    const connection = dial(service.baseUrl)
    for (let round = 0; round < 17; round++) {
      const bodies: Buffer<ArrayBuffer>[] = []
      for (const [request, status] of cycle) {
        connection.write([...request, 'Host: x', '', ''].join('\r\n'))
        const answer = await connection.next(request[0]?.split(' ')[0])
        expect([answer?.status, answer?.headers.get('connection')]).toEqual([status, undefined])
        if (answer) bodies.push(answer.body)
      }
      const [first, last] = [bodies[0], bodies.at(-1)].map(body => body ?? Buffer.alloc(0))
      expect(
        JSON.parse(Buffer.from(Bun.gunzipSync(first as Buffer<ArrayBuffer>)).toString()).data,
      ).toHaveLength(20)
      expect(JSON.parse(String(last)).meta.offset).toBe(40)
    }
    expect(connection.rest.length).toBe(0)
    connection.destroy()
  })
})

const withoutDate = (headers: Map<string, string>) => [...headers].filter(([name]) => name !== 'date')
