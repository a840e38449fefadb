import fc from 'fast-check'
import { MALFORMED_BASICS, malformedBearers, words } from '../../support/bad-values.ts'
import type { Keys, Standing } from './hostile.ts'
import { anyText } from './hostile-targets.ts'

interface Authorization {
  lines: string[]
  token: Standing
  client: Standing
}

/** Replaces the bytes that a header value cannot contain. */
const valued = (text: string) => text.replaceAll(/[\0\r\n]/g, ' ')

const bytes = (text: string) => Buffer.from(valued(text), 'utf8').toString('latin1')

/** Header lines, beginning with Host, and the standing of the credentials in them. */
export function headers(keys: Keys) {
  return fc
    .tuple(authorizations(keys), fc.array(others(keys), { maxLength: 4 }))
    .map(([authorization, more]) => ({
      lines: [`Host: ${keys.host}`, ...authorization.lines, ...more],
      standings: { token: authorization.token, client: authorization.client },
    }))
}

function authorizations({ token, clientId, clientSecret }: Keys): fc.Arbitrary<Authorization> {
  const basic = (text: string) => Buffer.from(text).toString('base64')
  const good = ['Bearer ', 'bearer ', 'BEARER  ', 'bEaReR '].map(scheme => line(`${scheme}${token}`, 'good'))
  const bad = [
    ...[...malformedBearers(token), ...MALFORMED_BASICS, '', ' ', 'Negotiate abc', 'Digest username="a"'],
    ...['null', 'x', 'x'.repeat(43), 'x'.repeat(5000)].map(text => `Bearer ${text}`),
    ...[`${token}x`, token.slice(1), token.toLowerCase(), `${token} ${token}`].map(text => `Bearer ${text}`),
    `Basic ${'A'.repeat(9000)}`,
    ...['a:b', ':', '\0:\0', `${clientId}:wrong`].map(text => `Basic ${basic(text)}`),
    ...["' or 1=1 --:x", '%zz:%', `${clientId}:${clientSecret}x`].map(text => `Basic ${basic(text)}`),
    'Basic \xff\xfe',
  ].map(value => line(value, 'none'))
  const unclear = [`Bearer\t${token}`, `Bearer ${token},Bearer x`, `  Bearer ${token}  `].map(value =>
    line(value, 'unclear'),
  )
  const client = { ...line(`Basic ${basic(`${clientId}:${clientSecret}`)}`, 'none'), client: 'good' as const }
  const bearer = line(`Bearer ${token}`, 'unclear')
  const twice: Authorization = { ...bearer, lines: [...bearer.lines, 'Authorization: Basic eDp5'] }
  const nothing: Authorization = { lines: [], token: 'none', client: 'none' }
  return fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...good) },
    { weight: 3, arbitrary: fc.constant(nothing) },
    { weight: 4, arbitrary: fc.constantFrom(...bad, ...unclear) },
    { weight: 3, arbitrary: fc.constant(client) },
    { weight: 1, arbitrary: fc.constant(twice) },
    { weight: 1, arbitrary: anyText.map(text => line(bytes(text), 'none')) },
  )
}

const line = (value: string, token: Standing): Authorization => ({
  lines: [`Authorization: ${value}`],
  token,
  client: 'none',
})

const ACCEPT_ENCODINGS = [
  ...words('gzip zstd br * *;q=0 identity;q=0 gzip;q=0.5,zstd;q=9 ,,, gzip;q='),
  ...['gzip;'.repeat(200), 'x'.repeat(2000)],
]

const COMMON = [
  'Accept: application/xml',
  'Accept-Language: *;q=NaN',
  'Cookie: a=b; __proto__=1; =; ;;',
  'Range: bytes=0-1',
  'If-None-Match: *',
  'If-Modified-Since: never',
  'Expect: 100-continue',
  'X-Forwarded-For: 127.0.0.1, ::1',
  'X-Forwarded-Host: other.example',
  'X-HTTP-Method-Override: DELETE',
  'X-Original-URL: /metrics',
  'Origin: null',
  'Access-Control-Request-Method: GET',
  'Keep-Alive: timeout=99999',
  'Max-Forwards: 0',
  'Te: trailers',
  'Referer: \xff\xfe',
  'User-Agent:',
  'Date: tomorrow',
  'X-Request-Id: a b\tc',
  `X-Request-Id: ${'a'.repeat(3000)}`,
  'X-Request-Id: {"level":60}',
]

/** Headers to which some servers react. */
function others({ host }: Keys): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...COMMON) },
    { weight: 2, arbitrary: fc.constantFrom(...ACCEPT_ENCODINGS).map(value => `Accept-Encoding: ${value}`) },
    { weight: 1, arbitrary: anyText.map(text => `X-Request-Id: ${bytes(text)}`) },
    { weight: 1, arbitrary: anyText.map(text => `X-Any: ${bytes(text)}`) },
    { weight: 1, arbitrary: fc.constant(`X-Host: ${host}`) },
  )
}
