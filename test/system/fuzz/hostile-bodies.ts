import fc from 'fast-check'
import { NO_JSON_OBJECTS, words } from '../../support/bad-values.ts'
import type { Keys, Standing } from './hostile.ts'
import { anyText } from './hostile-targets.ts'

/** A body, the correct header lines for it, and the standing of the credentials in it. */
export interface HostileBody {
  lines: string[]
  bytes: Buffer
  standings: { client: Standing }
}

const FORM = 'application/x-www-form-urlencoded'
const JSON_TYPE = 'application/json'

const CONTENT_TYPES = [
  ...[FORM, FORM, JSON_TYPE, JSON_TYPE, `${FORM};charset=UTF-8`, `${JSON_TYPE}; charset=utf-16`],
  ...words('APPLICATION/JSON text/plain multipart/form-data application/xml ; json \xff'),
  ...['multipart/form-data; boundary=x', ''],
]

const GOOD = 'client_credentials'
const GRANTS = [GOOD, GOOD, GOOD, ...words('password refresh_token CLIENT_CREDENTIALS'), '']

interface Content {
  /** The right content type of the body; others are tried, too. */
  type: string
  bytes: Buffer
  client: Standing
}

/** Bodies for token requests, and for requests that should have no body. */
export function bodies(keys: Keys): fc.Arbitrary<HostileBody> {
  const none: HostileBody = { lines: [], bytes: Buffer.alloc(0), standings: { client: 'none' } }
  const some = fc
    .tuple(
      contents(keys),
      fc.option(fc.constantFrom(...CONTENT_TYPES), { freq: 2 }),
      fc.constantFrom('length', 'length', 'chunks'),
    )
    .map(([content, otherType, framing]): HostileBody => {
      const client = otherType === null ? content.client : content.client === 'none' ? 'none' : 'unclear'
      const lines = [`Content-Type: ${otherType ?? content.type}`]
      const [frame, bytes] =
        framing === 'chunks'
          ? ['Transfer-Encoding: chunked', inChunks(content.bytes)]
          : [`Content-Length: ${content.bytes.length}`, content.bytes]
      return { lines: [...lines, frame], bytes, standings: { client } }
    })
  return fc.oneof({ weight: 1, arbitrary: fc.constant(none) }, { weight: 1, arbitrary: some })
}

function contents({ clientId, clientSecret }: Keys): fc.Arbitrary<Content> {
  const good = { grant_type: GOOD, client_id: clientId, client_secret: clientSecret }
  const field = fc.constantFrom(
    ...words('grant_type client_id client_secret scope client_id[] __proto__ constructor'),
    '',
  )
  const pair = fc.tuple(field, fc.oneof(fc.constantFrom(...GRANTS, clientId), anyText))
  const form = fc
    .array(pair, { maxLength: 5 })
    .map(
      (pairs): Content =>
        content(
          FORM,
          pairs.map(([name, value]) => `${name}=${encodeURIComponent(value.toWellFormed())}`).join('&'),
        ),
    )
  const json = fc
    .tuple(fc.constantFrom(...GRANTS), fc.anything({ maxDepth: 2, withNullPrototype: false }), anyText)
    .map(
      ([grant, client_id, client_secret]): Content =>
        content(JSON_TYPE, JSON.stringify({ grant_type: grant, client_id, client_secret }, bigIntAsText)),
    )
  const right = fc.constantFrom(
    { ...content(FORM, new URLSearchParams(good).toString()), client: 'good' as const },
    { ...content(JSON_TYPE, JSON.stringify(good)), client: 'good' as const },
  )
  const odd = fc.constantFrom(
    ...NO_JSON_OBJECTS.map(text => content(JSON_TYPE, text)),
    content(JSON_TYPE, '['.repeat(8000)),
    content(JSON_TYPE, `${'{"a":'.repeat(2500)}1${'}'.repeat(2500)}`),
    content(JSON_TYPE, '{"__proto__":{"grant_type":"client_credentials"}}'),
    content(JSON_TYPE, '\ufeff{}'),
    content(
      JSON_TYPE,
      `{"grant_type":"client_credentials","client_id":"${'a'.repeat(15_000)}","client_secret":"b"}`,
    ),
    content(FORM, 'a'.repeat(16 * 1024)),
    content(FORM, 'a'.repeat(16 * 1024 + 1)),
    content(FORM, 'a='.repeat(40_000)),
    content(FORM, '&'.repeat(10_000)),
    content(FORM, 'grant_type=client_credentials&client_id=%00&client_secret=%ff%fe'),
    content(FORM, 'grant_type=client_credentials&grant_type=client_credentials'),
    content(
      'multipart/form-data; boundary=x',
      '--x\r\nContent-Disposition: form-data; name="grant_type"\r\n\r\nclient_credentials\r\n--x--',
    ),
  )
  const binary = fc
    .uint8Array({ maxLength: 60 })
    .map((bytes): Content => ({ type: JSON_TYPE, bytes: Buffer.from(bytes), client: 'none' }))
  // A body with the grant type only: the credentials may be in the header.
  const grant = fc.constant(content(FORM, 'grant_type=client_credentials'))
  return fc.oneof(
    { weight: 3, arbitrary: form },
    { weight: 3, arbitrary: json },
    { weight: 3, arbitrary: right },
    { weight: 2, arbitrary: odd },
    { weight: 1, arbitrary: binary },
    { weight: 2, arbitrary: grant },
  )
}

const content = (type: string, text: string): Content => ({
  type,
  bytes: Buffer.from(text, 'utf8'),
  client: 'none',
})

const bigIntAsText = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value)

function inChunks(bytes: Buffer): Buffer {
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length; at += 5000) {
    const piece = bytes.subarray(at, at + 5000)
    pieces.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'))
  }
  return Buffer.concat([...pieces, Buffer.from('0\r\n\r\n')])
}
