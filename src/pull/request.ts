import { Failure } from '../errors.ts'

/** A whole answer. */
export interface Answer {
  status: number
  headers: Headers
  body: Uint8Array
}

/** Whether a URL leads to this machine itself. */
export function isLoopback(url: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(url).hostname)
}

/** There was no good answer, and the next attempt may get one. The message says what there was instead. */
export class Unanswered extends Error {
  constructor(
    message: string,
    /** How long the service asks to be left alone, in milliseconds. */
    readonly retryAfterMs?: number,
  ) {
    super(message)
  }
}

/** The other side closed the connection without a whole answer. */
export class BrokenOff extends Unanswered {}

/** Bytes of an answer. A page of 100 records has some 50,000. */
const MAX_ANSWER = 64 * 1024 * 1024

/**
 * Sends one request and reads the whole answer, in `timeoutMs` at most. Redirects are not followed: they would
 * take a secret or a token to a host that nobody named.
 * @throws Unanswered when the connection broke or time ran out
 * @throws Failure when another attempt would end the same way
 */
export async function request(url: string, init: RequestInit, timeoutMs: number): Promise<Answer> {
  const { origin } = new URL(url)
  const clock = new AbortController()
  const timer = setTimeout(() => clock.abort(new TimedOut()), timeoutMs)
  try {
    const response = await fetch(url, { ...init, redirect: 'manual', signal: clock.signal })
    const { status, headers } = response
    return { status, headers, body: await readBody(response, origin) }
  } catch (error) {
    // An answer that was not read to its end is not wanted any more.
    clock.abort()
    throw explain(error, origin, timeoutMs)
  } finally {
    clearTimeout(timer)
  }
}

class TimedOut extends Error {}

/** Counted as it is inflated: a small body may be made to grow without end. */
async function readBody(response: Response, origin: string): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.byteLength
    if (length > MAX_ANSWER)
      throw new Failure(
        `${origin} sent an answer of more than ${MAX_ANSWER} bytes: it is not a page of an axport`,
      )
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const HANDSHAKE = /CERT|SELF_SIGNED|UNABLE_TO|ALTNAME|CRL_/
const NO_HTTP = ['Malformed_HTTP_Response', 'ResponseHeadersTooLarge']

/** By the error codes of Bun's fetch. */
function explain(error: unknown, origin: string, timeoutMs: number): Error {
  if (error instanceof Failure) return error
  if (error instanceof TimedOut)
    return new Unanswered(`${origin} did not finish an answer within ${timeoutMs / 1000} s`)
  const { code = '', message } = error as { code?: string; message: string }
  if (code === 'ECONNREFUSED') return new Unanswered(`nothing listens at ${origin}`)
  if (code === 'ECONNRESET') return new BrokenOff(`${origin} broke the connection off`)
  if (/^(ENOTFOUND|EAI_|EDNS)/.test(code))
    return new Unanswered(`the host of ${origin} cannot be found (${code})`)
  if (HANDSHAKE.test(code)) return new Failure(`the certificate of ${origin} ${wrongCertificate(code)}`)
  if (code === 'EPROTO')
    return new Failure(`${origin} does not speak TLS there: is it http://, or another port?`)
  if (NO_HTTP.includes(code)) return new Failure(`${origin} does not speak HTTP: is it the right port?`)
  return new Unanswered(`the request to ${origin} failed (${code || message.replaceAll(/\s+/g, ' ')})`)
}

function wrongCertificate(code: string): string {
  if (code.includes('ALTNAME')) return 'is for another name: give the one that it is for as --base-url'
  if (/EXPIRED|NOT_YET/.test(code))
    return `is not valid at this time (${code}): its operator has to renew it, or the clock here is wrong`
  return `is not trusted (${code}): name the file of its authority in NODE_EXTRA_CA_CERTS`
}
