import { Type as t } from '@sinclair/typebox'
import { type HttpError, jsonResponse, withFacts } from '../answers.ts'
import type { Runner } from '../postgres/statement.ts'
import { invalidClient, NOT_STORED, oauthError, readTokenRequest } from './credentials.ts'
import { issueToken, TOKEN_LIFETIME } from './tokens.ts'

/** What a token request may take: bytes of its body, and milliseconds for all of it to arrive. */
export interface BodyLimits {
  bodySize: number
  bodyTime: number
}

/** Spec 2.4. */
export const TokenResponse = t.Object({
  access_token: t.String({ description: 'Opaque bearer token.' }),
  token_type: t.Literal('Bearer', { description: 'Always Bearer.' }),
  expires_in: t.Integer({ description: 'Lifetime in seconds; 7200.' }),
  created_at: t.Integer({ description: 'Creation time as a Unix timestamp (seconds).' }),
})

/** POST /oauth/token (spec 4.1): client credentials for an access token. Reads the body itself. */
export async function issueAccessToken(db: Runner, request: Request, limits: BodyLimits): Promise<Response> {
  const body = await readLimited(request, limits)
  const contentType = request.headers.get('content-type')
  const client = readTokenRequest(contentType, body, request.headers.get('authorization'))
  const issued = await issueToken(db, client.clientId, client.clientSecret)
  if (!issued) throw invalidClient()
  const response: typeof TokenResponse.static = {
    access_token: issued.accessToken,
    token_type: 'Bearer',
    expires_in: TOKEN_LIFETIME,
    created_at: issued.createdAt,
  }
  // Only now: what is no client's id may be a secret in the wrong place.
  return withFacts(jsonResponse(200, JSON.stringify(response), NOT_STORED), { clientId: client.clientId })
}

/** Stops reading at either limit, so that a large or a slow body costs its sender more than us. */
async function readLimited(request: Request, { bodySize, bodyTime }: BodyLimits): Promise<string> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(bodyTooSlow(bodyTime)), bodyTime)
  try {
    return await Promise.race([readBody(request, bodySize), late.promise])
  } finally {
    clearTimeout(timer)
  }
}

async function readBody(request: Request, bodySize: number): Promise<string> {
  const length = request.headers.get('content-length') ?? ''
  // A length that is sent twice comes as "5, 5".
  const body = /^\d+$/.test(length)
    ? await readWhole(request, Number(length), bodySize)
    : await readStream(request, bodySize)
  return body.toString('utf8')
}

/** What tells its length is not read as a stream, which takes a tenth of the time of a token. */
async function readWhole(request: Request, length: number, bodySize: number): Promise<Buffer> {
  if (length > bodySize) throw bodyTooLarge(bodySize)
  return Buffer.from(await unbroken(request.arrayBuffer()))
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
