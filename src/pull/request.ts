import { Failure, TransientFailure } from '../errors.ts'

/** A whole answer. */
export interface Answer {
  status: number
  headers: Headers
  body: Uint8Array
}

/** Whether a URL leads to this machine. */
export function isLoopback(url: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(url).hostname)
}

/** A request without a usable answer, which another attempt may get. */
export class Unanswered extends Error {
  constructor(
    message: string,
    /** The service's Retry-After. */
    readonly retryAfterMs?: number,
  ) {
    super(message)
  }
}

/** The other side closed the connection before the end of the answer. */
export class ConnectionClosed extends Unanswered {}

/** Of an answer, uncompressed. A page of 100 records has about 50,000. */
const MAX_BYTES = 64 * 1024 * 1024

/**
 * Sends one request and reads the whole answer, in `timeoutMs` at most. Redirects are not followed: they would
 * take a secret or a token to another host.
 * @throws Unanswered; Failure when another attempt would end the same way
 */
export async function request(url: string, init: RequestInit, timeoutMs: number): Promise<Answer> {
  const { origin } = new URL(url)
  const abort = new AbortController()
  const timer = setTimeout(() => abort.abort(new DOMException('timed out', 'TimeoutError')), timeoutMs)
  try {
    const response = await fetch(url, { ...init, redirect: 'manual', signal: abort.signal })
    return { status: response.status, headers: response.headers, body: await readBody(response, origin) }
  } catch (error) {
    abort.abort()
    throw explain(error, origin, timeoutMs)
  } finally {
    clearTimeout(timer)
  }
}

/** The limit is for the uncompressed bytes: a small compressed body can expand without end. */
async function readBody(response: Response, origin: string): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.byteLength
    if (length > MAX_BYTES)
      throw new Failure(
        `${origin} sent an answer of more than ${MAX_BYTES} bytes: it is not a page of an axport`,
      )
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO|ALTNAME|CRL_/

/** By the error codes of Bun's fetch. */
function explain(error: unknown, origin: string, timeoutMs: number): Error {
  if (error instanceof Failure) return error
  const { name, code = '', message } = error as { name: string; code?: string; message: string }
  if (name === 'TimeoutError')
    return new Unanswered(`${origin} did not finish an answer within ${timeoutMs / 1000} s`)
  if (code === 'ECONNREFUSED') return new Unanswered(`nothing listens at ${origin}`)
  if (code === 'ECONNRESET') return new ConnectionClosed(`${origin} closed the connection`)
  if (/^(ENOTFOUND|EAI_|EDNS)/.test(code))
    return new Unanswered(`the host of ${origin} cannot be found (${code})`)
  if (CERTIFICATE.test(code)) return new Failure(`the certificate of ${origin} ${wrongCertificate(code)}`)
  if (code === 'EPROTO')
    return new Failure(`${origin} does not speak TLS there: is it http://, or another port?`)
  if (code === 'Malformed_HTTP_Response' || code === 'ResponseHeadersTooLarge')
    return new Failure(`${origin} does not speak HTTP: is it the right port?`)
  return new Unanswered(`the request to ${origin} failed (${code || message.replaceAll(/\s+/g, ' ')})`)
}

function wrongCertificate(code: string): string {
  if (code.includes('ALTNAME')) return 'is for another name: give that name as --base-url'
  if (/EXPIRED|NOT_YET/.test(code))
    return `is not valid at this time (${code}): its operator has to renew it, or the clock here is wrong`
  return `is not trusted (${code}): name the file of its authority in NODE_EXTRA_CA_CERTS`
}

const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 30_000

/**
 * Repeats an attempt that ends in Unanswered, after pauses that double, with jitter so that many clients do not
 * come back at once. A Retry-After replaces the pause.
 * @param retryForMs called after each attempt: the longest time since the first one
 * @param onPause called before each pause
 * @throws TransientFailure when the next attempt would come later than that
 */
export async function retrying<Result>(
  attempt: () => Promise<Result>,
  retryForMs: () => number,
  onPause: (reason: string, milliseconds: number) => void,
): Promise<Result> {
  const start = performance.now()
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error
      const { message, retryAfterMs } = error
      const step = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempts - 1))
      const pause = retryAfterMs ?? step * (0.5 + Math.random() / 2)
      if (performance.now() - start + pause > retryForMs()) {
        const wish = retryAfterMs ? `, and asks to come back in ${Math.ceil(retryAfterMs / 1000)} s` : ''
        const count = `${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`
        throw new TransientFailure(`${message}${wish}; gave up after ${count}`)
      }
      if (pause > 0) onPause(message, pause)
      await Bun.sleep(pause)
    }
  }
}
