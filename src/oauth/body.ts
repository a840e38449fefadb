import { HttpError } from '../answers.ts'
import { hasRepeatedKey } from '../repeated-keys.ts'
import { within } from '../timeouts.ts'
import { oauthError, unsupportedGrantType } from './client-credentials.ts'

/** The limits of a token request: bytes of its body (413), and milliseconds until all of the body has arrived (408). */
export interface BodyLimits {
  bodySize: number
  bodyTimeMs: number
}

/**
 * Reads the parameters of a token request, for Elysia's `parse`. Its own parsers have no limits of size and time, keep the
 * last of repeated parameters, and compare media types by case. The query string is not read: it ends up in logs.
 * @returns a function that throws HttpError 400, 408, 413 or 415
 */
export const tokenParameters =
  (limits: BodyLimits) =>
  async ({ request }: { request: Request }): Promise<Parameters> => {
    refuseCoding(request.headers.get('content-encoding'))
    const text = await readLimited(request, limits)
    return parametersIn(text, request.headers.get('content-type'))
  }

const NAMES = ['grant_type', 'client_id', 'client_secret'] as const

/** The parameters that were sent, of those that there are. */
type Parameters = { [name in (typeof NAMES)[number]]?: string }

/** Refuses compressed bodies (RFC 9110 §15.5.16). @throws HttpError 415 */
export function refuseCoding(contentEncoding: string | null): void {
  if (/^(?:\s*|identity)$/i.test(contentEncoding ?? '')) return
  const description = 'The body must be sent as it is, without Content-Encoding'
  throw oauthError(415, description, { 'accept-encoding': 'identity' })
}

/**
 * The parameters in a body with this Content-Type. Others are ignored, and an empty one equals an omitted one (RFC 6749
 * §3.2), as null does in JSON. @throws HttpError 400
 */
export function parametersIn(body: string, contentType: string | null): Parameters {
  const sent = pairsIn(body, contentType).filter(([, value]) => value !== '' && value !== null)
  const parameters: Parameters = {}
  for (const name of NAMES) {
    const [found, ...repeated] = sent.filter(([given]) => given === name)
    if (!found) continue
    const [, value] = found
    if (repeated.length > 0) throw oauthError(400, `${name} must not be repeated`)
    if (typeof value !== 'string') throw oauthError(400, `${name} must be a string`)
    parameters[name] = value
  }
  return parameters
}

function pairsIn(body: string, contentType: string | null): [name: string, value: unknown][] {
  const mediaType = contentType?.split(';')[0]?.trim().toLowerCase()
  if (mediaType === 'application/x-www-form-urlencoded') return [...new URLSearchParams(body)]
  if (mediaType !== 'application/json') throw unsupportedGrantType(OTHER_TYPE)
  const value = parseJson(body)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw oauthError(400, 'The body must be a JSON object')
  if (hasRepeatedKey(body, value)) throw oauthError(400, 'A key of a JSON object must not be repeated')
  return Object.entries(value)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw oauthError(400, 'The body is not valid JSON')
  }
}

const OTHER_TYPE = 'The body must have the Content-Type application/x-www-form-urlencoded or application/json'

/** Stops reading at either limit. */
async function readLimited(request: Request, { bodySize, bodyTimeMs }: BodyLimits): Promise<string> {
  const length = request.headers.get('content-length') ?? ''
  // A body with Content-Length is read in one call; streaming it would cost about 10 % of a token request. Two headers
  // arrive as "5, 5", which is no number.
  const hasLength = /^\d+$/.test(length)
  if (hasLength && Number(length) > bodySize) throw bodyTooLarge(bodySize)
  const reading = hasLength ? request.arrayBuffer().then(Buffer.from) : readStream(request, bodySize)
  const orBrokenOff = reading.catch((error: unknown) => {
    // A client that disconnects gets a 400: its request was at fault, not the service.
    throw error instanceof HttpError ? error : oauthError(400, 'The body broke off')
  })
  const body = await within(bodyTimeMs, orBrokenOff, undefined)
  if (!body) throw bodyTooSlow(bodyTimeMs)
  // Without a byte order mark, which some programs write before their first byte.
  return new TextDecoder().decode(body)
}

async function readStream(request: Request, bodySize: number): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of request.body ?? []) {
    length += chunk.byteLength
    if (length > bodySize) throw bodyTooLarge(bodySize)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** The error of a body that did not arrive in time. */
export function bodyTooSlow(timeoutMs: number): HttpError {
  // Bun would take the rest of the body for the next request.
  const headers = { connection: 'close' }
  return oauthError(408, `The body took longer than ${timeoutMs / 1000} s`, headers)
}

/** The error of a body of more than `bytes`. */
export function bodyTooLarge(bytes: number): HttpError {
  return oauthError(413, `The body is larger than ${bytes} bytes`)
}
