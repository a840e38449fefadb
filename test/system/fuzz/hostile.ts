import fc from 'fast-check'
import { OTHER_METHODS } from '../../support/bad-values.ts'
import { TOKEN } from '../../support/http.ts'
import { bodies } from './hostile-bodies.ts'
import { headers } from './hostile-headers.ts'
import { targets } from './hostile-targets.ts'

/** The standing of credentials: valid, invalid, or unclear if servers may read them either way. */
export type Standing = 'good' | 'none' | 'unclear'

/** A request as bytes, with its expected handling. */
export interface HostileRequest {
  method: string
  /** The target in the request line. */
  target: string
  /** The standing of the token, and that of the client credentials. */
  token: Standing
  client: Standing
  /** Whether the request is not valid HTTP: the server may answer without a body, or close. */
  isBroken: boolean
  bytes: Buffer
}

/** Valid credentials and ids. */
export interface Keys {
  host: string
  token: string
  clientId: string
  clientSecret: string
  /** Ids of existing records. */
  ids: number[]
}

/** Several requests for one connection, and the way in which they are sent. */
export interface Conversation {
  requests: HostileRequest[]
  /** Whether the requests are sent all at once, not one after the other. */
  isPipelined: boolean
  /** The points at which each request is split into packets, as shares of its length. */
  cuts: number[]
  /** The share of all bytes that is sent. */
  sent: number
  ending: 'wait' | 'end' | 'cut'
}

const METHODS = ['GET', 'HEAD', ...OTHER_METHODS]
/** Methods on which the server closes the connection or answers without a body. */
const ODD_METHODS = ['CONNECT', 'get', 'GETT', 'X', 'BREW']

/**
 * Hostile requests of many kinds, several on a connection, of which the last may be broken.
 */
export function conversations(keys: Keys): fc.Arbitrary<Conversation> {
  const request = fc
    .record({
      method: fc.oneof(
        { weight: 8, arbitrary: fc.constant(undefined) },
        { weight: 3, arbitrary: fc.constantFrom(...METHODS) },
        { weight: 1, arbitrary: fc.constantFrom(...ODD_METHODS) },
      ),
      target: targets(keys),
      headers: headers(keys),
      body: bodies(keys),
    })
    .map(({ method, target, headers, body }) =>
      assemble(method ?? (target.startsWith(TOKEN) ? 'POST' : 'GET'), target, headers, body),
    )
  const broken = fc
    .tuple(request, fc.constantFrom(...Object.keys(BREAKS)), fc.nat())
    .map(([request, way, seed]) => ({
      ...request,
      isBroken: true,
      bytes: BREAKS[way]?.(request.bytes, seed) as Buffer,
    }))
  const complete = fc.record({
    requests: fc
      .tuple(fc.array(request, { minLength: 1, maxLength: 8 }), fc.option(broken, { freq: 4 }))
      .map(([whole, last]) => untilBroken(last ? [...whole, last] : whole)),
    isPipelined: fc.constantFrom(false, false, false, true),
    cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 2 }),
    sent: fc.constant(1),
    ending: fc.constant('wait' as const),
  })
  const truncated = fc.record({
    requests: fc.array(request, { minLength: 1, maxLength: 3 }),
    isPipelined: fc.constant(true),
    cuts: fc.constant<number[]>([]),
    sent: fc.double({ min: 0, max: 1, noNaN: true }),
    ending: fc.constantFrom('end' as const, 'cut' as const),
  })
  return fc.oneof({ weight: 6, arbitrary: complete }, { weight: 1, arbitrary: truncated })
}

/** Drops the requests after a broken one, because a server may read their bytes as part of the broken one. */
function untilBroken(requests: HostileRequest[]): HostileRequest[] {
  const first = requests.findIndex(({ isBroken }) => isBroken)
  return first < 0 ? requests : requests.slice(0, first + 1)
}

interface Part<Standings> {
  lines: string[]
  standings: Standings
}

function assemble(
  method: string,
  target: string,
  headers: Part<{ token: Standing; client: Standing }>,
  body: Part<{ client: Standing }> & { bytes: Buffer },
): HostileRequest {
  const head = [`${method} ${target} HTTP/1.1`, ...headers.lines, ...body.lines, '', ''].join('\r\n')
  const clients = [headers.standings.client, body.standings.client]
  return {
    method,
    target,
    token: headers.standings.token,
    client: clients.every(standing => standing === 'none')
      ? 'none'
      : clients.includes('good')
        ? 'good'
        : 'unclear',
    isBroken:
      ODD_METHODS.includes(method) || target.startsWith('*') || /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/.test(head),
    bytes: Buffer.concat([Buffer.from(head, 'latin1'), body.bytes]),
  }
}

const replaced = (bytes: Buffer, pattern: RegExp, by: string) =>
  Buffer.from(bytes.toString('latin1').replace(pattern, by), 'latin1')

const CHUNKED = '\r\nTransfer-Encoding: chunked\r\n\r\n'

/** Inserts lines between the request line and the headers. */
const lines = (text: string) => (bytes: Buffer) => replaced(bytes, /\r\n/, `\r\n${text}\r\n`)

/** Ways to break a request. Lenient servers accept some of them. */
const BREAKS: Record<string, (bytes: Buffer, seed: number) => Buffer> = {
  'a body that is shorter than its length': bytes =>
    replaced(bytes, /\r\n\r\n/, '\r\nContent-Length: 99999\r\n\r\n'),
  'two different lengths': lines('Content-Length: 3\r\nContent-Length: 7'),
  'a repeated length': bytes => replaced(bytes, /(Content-Length: \d+)\r\n/, '$1\r\n$1\r\n'),
  'a negative length': lines('Content-Length: -1'),
  'a length beyond 64 bits': lines('Content-Length: 99999999999999999999999'),
  'a length and chunks': lines('Content-Length: 4\r\nTransfer-Encoding: chunked'),
  'an unknown transfer coding': lines('Transfer-Encoding: gzip, chunked'),
  'an invalid chunk size': bytes => replaced(bytes, /\r\n\r\n/, `${CHUNKED}zz\r\n`),
  'a huge chunk size': bytes => replaced(bytes, /\r\n\r\n/, `${CHUNKED}ffffffffffffffff\r\nx`),
  'no version': bytes => replaced(bytes, / HTTP\/1\.1/, ''),
  'another version': bytes => replaced(bytes, /HTTP\/1\.1/, 'HTTP/9.9'),
  'an old version': bytes => replaced(bytes, /HTTP\/1\.1/, 'HTTP/1.0'),
  'an invalid method': bytes => replaced(bytes, /^\S+/, 'G\x00T'),
  'spaces in the target': bytes => replaced(bytes, / HTTP/, ' a b HTTP'),
  'control characters in the target': bytes => replaced(bytes, / HTTP/, '\x01\x7f HTTP'),
  'a header without a colon': lines('nonsense'),
  'a header with a space before the colon': lines('X-A : b'),
  'a folded header': lines('X-A: b\r\n c'),
  'NUL in a header': lines('X-A: b\x00c'),
  'no Host': bytes => replaced(bytes, /^Host:.*\r\n/im, ''),
  'two Hosts': lines('Host: a\r\nHost: b'),
  'an invalid Host': bytes => replaced(bytes, /^Host:.*\r\n/im, 'Host: []:x@/\\ %\r\n'),
  'a very long header': lines(`X-Long: ${'a'.repeat(80_000)}`),
  'too many headers': lines('X-Many: a\r\n'.repeat(300).trimEnd()),
  'a very long target': bytes => replaced(bytes, / HTTP/, `${'a'.repeat(80_000)} HTTP`),
  'bare line feeds': bytes => replaced(bytes, /\r\n/g, '\n'),
  'a change of protocol': lines('Connection: Upgrade\r\nUpgrade: websocket'),
  'the preface of HTTP/2': bytes => Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), bytes]),
  'a TLS handshake': () => Buffer.from('16030100f8010000f40303', 'hex'),
  'one changed byte': (bytes, seed) => {
    const changed = Buffer.from(bytes)
    changed[seed % bytes.length] = (seed >> 8) & 0xff
    return changed
  },
}
