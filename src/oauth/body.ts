import type { HttpError } from '../answers.ts'
import { within } from '../within.ts'
import { oauthError } from './credentials.ts'

/** What a token request may take: bytes of its body, and milliseconds for all of it to arrive. */
export interface BodyLimits {
  bodySize: number
  bodyTimeMs: number
}

/**
 * The body of a token request: a form, what was JSON, or an empty form where it is neither (as the query string, which
 * ends up in logs, it holds no parameters then).
 * @throws HttpError 400, 408 or 413
 */
export async function readBody(request: Request, limits: BodyLimits): Promise<unknown> {
  const text = await readLimited(request, limits)
  const mediaType = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
  if (mediaType === 'application/json') return readJson(text)
  return new URLSearchParams(mediaType === 'application/x-www-form-urlencoded' ? text : '')
}

/** @throws HttpError 400 */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw oauthError(400, 'invalid_request', 'The body is not valid JSON')
  }
}

/** Stops reading at either limit, so that a large or a slow body costs its sender more than us. */
async function readLimited(request: Request, { bodySize, bodyTimeMs }: BodyLimits): Promise<string> {
  const length = request.headers.get('content-length') ?? ''
  // What tells its length is not read as a stream, which takes a tenth of the time of a token. A length that is sent
  // twice comes as "5, 5".
  const isTold = /^\d+$/.test(length)
  if (isTold && Number(length) > bodySize) throw bodyTooLarge(bodySize)
  const reading = isTold ? unbroken(request.arrayBuffer()).then(Buffer.from) : readStream(request, bodySize)
  const body = await within(bodyTimeMs, reading, undefined)
  if (!body) throw bodyTooSlow(bodyTimeMs)
  return body.toString('utf8')
}

async function readStream(request: Request, bodySize: number): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  if (!request.body) return Buffer.concat(chunks)
  const reader = request.body.getReader() as ReadableStreamDefaultReader<Uint8Array>
  let length = 0
  try {
    for (;;) {
      const { done, value } = await unbroken(reader.read())
      if (done) return Buffer.concat(chunks)
      length += value.byteLength
      if (length > bodySize) throw bodyTooLarge(bodySize)
      chunks.push(value)
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}

/** For a body of which not all arrived in `milliseconds`. */
export function bodyTooSlow(milliseconds: number): HttpError {
  // What is left of the body would be taken for the next request.
  const headers = { connection: 'close' }
  return oauthError(408, 'invalid_request', `The body took longer than ${milliseconds / 1000} s`, headers)
}

/** For a body of more than `bytes`. */
export function bodyTooLarge(bytes: number): HttpError {
  return oauthError(413, 'invalid_request', `The body is larger than ${bytes} bytes`)
}

/** A client that hangs up in the middle is its own fault and nothing unforeseen. */
async function unbroken<Result>(reading: Promise<Result>): Promise<Result> {
  try {
    return await reading
  } catch {
    throw oauthError(400, 'invalid_request', 'The body broke off')
  }
}
