import { MAX_LINK } from '../../assessments/next-link.ts'
import type { Json } from './schema.ts'

const text = (description: string, example: string, type = 'string') => ({
  description,
  schema: { type },
  example: type === 'integer' ? Number(example) : example,
})

/** The headers of answers that mean something to a client, by their names in lower case. */
const HEADERS: Record<string, Json> = {
  allow: text('The methods that there are.', 'GET, HEAD'),
  'cache-control': text(
    'Nothing is to be stored: records are personal data, tokens are secrets.',
    'private, no-store',
  ),
  link: text(
    `The next page (RFC 8288): the same request with the next offset, relative to the address of the request. Absent on the last page, and where it would be longer than ${MAX_LINK.toLocaleString('en-US')} bytes.`,
    '<assessments?page=2&offset=2>; rel="next"',
  ),
  'retry-after': text('Seconds to wait before the request is repeated.', '1', 'integer'),
  vary: text('The body is compressed for clients that accept that (gzip, zstd).', 'Accept-Encoding'),
  'x-request-id': text(
    'The operator finds the request by it in the log. A request may bring one of its own: up to 64 letters, digits, dots, dashes and underscores.',
    '9f1c6a52-3c0e-4f5b-9d0f-0a6b1d6a7e21',
  ),
  'www-authenticate': text(
    'What is asked for (RFC 6750 §3, RFC 7617).',
    'Bearer realm="axport", error="invalid_token", error_description="The access token is invalid"',
  ),
}

/** Every header that is described, as components. */
export const HEADER_COMPONENTS: Json = Object.fromEntries(
  Object.entries(HEADERS).map(([name, header]) => [usual(name), header]),
)

/** The headers of one response: those named, as far as they are described, and the two that all have. */
export function answerHeaders(names: string[]): Json {
  const known = new Set(['cache-control', 'x-request-id', ...names].filter(name => name in HEADERS))
  return Object.fromEntries(
    [...known].map(name => [usual(name), { $ref: `#/components/headers/${usual(name)}` }]),
  )
}

/** "Cache-Control", "WWW-Authenticate". */
function usual(name: string): string {
  return name === 'www-authenticate'
    ? 'WWW-Authenticate'
    : name.replaceAll(/(^|-)[a-z]/g, start => start.toUpperCase())
}
