import { HttpError } from '../answers.ts'
import { within } from '../within.ts'
import { oauthError, unsupportedGrantType } from './credentials.ts'

/** The limits of a token request: bytes of its body (413), and milliseconds until all of the body has arrived (408). */
export interface BodyLimits {
  bodySize: number
  bodyTimeMs: number
}

/**
 * The body of a token request: a form, or the value of JSON. Parameters are not read from the query string, which ends up
 * in logs.
 * @throws HttpError 400, 408 or 413
 */
export async function readBody(request: Request, limits: BodyLimits): Promise<unknown> {
  const text = await readLimited(request, limits)
  return parametersIn(text, request.headers.get('content-type'))
}

/** The form or the value of JSON in a body with this Content-Type. @throws HttpError 400 */
export function parametersIn(text: string, contentType: string | null): unknown {
  const mediaType = contentType?.split(';')[0]?.trim().toLowerCase()
  if (mediaType === 'application/x-www-form-urlencoded') return new URLSearchParams(text)
  if (mediaType !== 'application/json') throw unsupportedGrantType(OTHER_TYPE)
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
  return body.toString('utf8')
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
