import { Failure, TransientFailure } from '../errors.ts'

/** A service, the credentials for it, and how long to wait for it. */
export interface Service {
  /** "https://host/prefix", without a slash at its end. */
  baseUrl: string
  clientId: string
  clientSecret: string
  /** For one answer, from connecting to its last byte. */
  timeoutMs: number
  /** For a page, over all attempts. */
  retryForMs: number
}

/** The longest retryForMs before the first answer: a host that never answered is probably a wrong address. */
const FIRST_ANSWER_MS = 10_000
const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 30_000
/** A token is replaced this long before it expires, because a request may be slow. */
const TOKEN_MARGIN_MS = 60_000
/** How often one request gets a new token after a 401. */
const MAX_NEW_TOKENS = 2
/** Of an answer, uncompressed: a small compressed body can expand without end. A page of 100 records has about 50,000. */
const MAX_BYTES = 64 * 1024 * 1024
/** Statuses of overload, of a restart, and of a proxy without its service. */
const TEMPORARY = [408, 429, 500, 502, 503, 504]
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i

interface Answer {
  status: number
  headers: Headers
  type: string
  body: Uint8Array
}

/** A request without a usable answer, which another attempt may get. */
class Unanswered extends Error {
  /** @param retryAfterMs the service's Retry-After */
  constructor(
    message: string,
    readonly retryAfterMs?: number,
  ) {
    super(message)
  }
}

/** Whether a URL leads to this machine. */
export function isLoopback(url: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(url).hostname)
}

/** Reads lists of a service, with one token for its lifetime. */
export class Client {
  private token: { text: string; until: number } | undefined
  private hasAnswered = false

  /** @param onPause called before each pause between two attempts */
  constructor(
    private readonly service: Service,
    private readonly onPause: (reason: string, milliseconds: number) => void,
  ) {}

  /** The body of a list answer. Throws TransientFailure after `retryForMs`, or Failure if retrying cannot help. */
  async list(queryString: string): Promise<Uint8Array> {
    const url = `${this.service.baseUrl}/api/v1/ax/assessments`
    // Compression makes a page five times smaller, and costs time that a loopback connection does not win back.
    const encoding: Record<string, string> = isLoopback(url) ? { 'accept-encoding': 'identity' } : {}
    const start = performance.now()
    for (let attempts = 1, refusals = 0; ; attempts++) {
      try {
        const headers = { ...encoding, authorization: `Bearer ${await this.currentToken()}` }
        const answer = await this.send(`${url}?${queryString}`, { headers })
        if (answer.status !== 401) return bodyOf(answer, url)
        this.token = undefined
        if (++refusals > MAX_NEW_TOKENS)
          throw new Failure('the service refuses the tokens that it issues: ask its operator')
        // Retries at once (spec 5), then after a pause: another server may not have a new token yet.
        throw new Unanswered('the service refused its token', refusals === 1 ? 0 : undefined)
      } catch (error) {
        if (!(error instanceof Unanswered)) throw error
        await this.pause(error, attempts, performance.now() - start)
      }
    }
  }

  /** Pauses double; jitter keeps clients from returning at once. Throws TransientFailure past retryForMs. */
  private async pause({ message, retryAfterMs }: Unanswered, attempts: number, passedMs: number) {
    const step = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempts - 1))
    const pauseMs = retryAfterMs ?? step * (0.5 + Math.random() / 2)
    const { retryForMs } = this.service
    if (passedMs + pauseMs > (this.hasAnswered ? retryForMs : Math.min(retryForMs, FIRST_ANSWER_MS))) {
      const wish = retryAfterMs ? `, and asks to come back in ${Math.ceil(retryAfterMs / 1000)} s` : ''
      const count = `${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`
      throw new TransientFailure(`${message}${wish}; gave up after ${count}`)
    }
    if (pauseMs > 0) this.onPause(message, pauseMs)
    await Bun.sleep(pauseMs)
  }

  private async currentToken(): Promise<string> {
    if (this.token && performance.now() < this.token.until) return this.token.text
    const { baseUrl, clientId, clientSecret } = this.service
    const url = `${baseUrl}/oauth/token`
    const body = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    })
    const start = performance.now()
    const answer = await this.send(url, { method: 'POST', body })
    if (answer.status === 401)
      throw new Failure('the service refuses the client id or its secret: check both, or ask its operator')
    const { access_token, expires_in } = readJson(bodyOf(answer, url))
    if (typeof access_token !== 'string' || !/^[\x21-\x7e]+$/.test(access_token))
      throw new Failure(`${url} answered without a token: is ${baseUrl} the base URL of an axport?`)
    const lifetime = typeof expires_in === 'number' ? expires_in * 1000 : 0
    const until = start + Math.max(lifetime - TOKEN_MARGIN_MS, lifetime / 2)
    this.token = { text: access_token, until }
    return access_token
  }

  /** Sends one request; reads the whole answer. A redirect is not followed: it would take a secret to another host. */
  private async send(url: string, init: RequestInit): Promise<Answer> {
    const { timeoutMs } = this.service
    const { origin } = new URL(url)
    const abort = new AbortController()
    const timer = setTimeout(() => abort.abort(new DOMException('timed out', 'TimeoutError')), timeoutMs)
    try {
      const response = await fetch(url, { ...init, redirect: 'manual', signal: abort.signal })
      const chunks: Uint8Array[] = []
      let length = 0
      for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
        length += chunk.byteLength
        if (length > MAX_BYTES)
          throw new Failure(`${origin} sent more than ${MAX_BYTES} bytes: that is no page of an axport`)
        chunks.push(chunk)
      }
      this.hasAnswered = true
      const { status, headers } = response
      return { status, headers, type: headers.get('content-type') ?? '', body: Buffer.concat(chunks) }
    } catch (error) {
      abort.abort()
      throw this.explain(error, origin)
    } finally {
      clearTimeout(timer)
    }
  }

  /** By the error codes of Bun's fetch. */
  private explain(error: unknown, origin: string): Error {
    if (error instanceof Failure) return error
    const { name, code = '', message } = error as { name: string; code?: string; message: string }
    if (name === 'TimeoutError')
      return new Unanswered(`${origin} did not finish an answer within ${this.service.timeoutMs / 1000} s`)
    if (code === 'ECONNREFUSED') return new Unanswered(`nothing listens at ${origin}`)
    if (code === 'ECONNRESET') {
      const hint = !this.hasAnswered && origin.startsWith('http:') ? ', as a port for https:// does' : ''
      return new Unanswered(`${origin} closed the connection${hint}`)
    }
    if (/^(ENOTFOUND|EAI_|EDNS)/.test(code))
      return new Unanswered(`the host of ${origin} cannot be found (${code})`)
    if (/CERT|SELF_SIGNED|UNABLE_TO|ALTNAME|CRL_/.test(code))
      return new Failure(`the certificate of ${origin} ${wrongCertificate(code)}`)
    if (['EPROTO', 'Malformed_HTTP_Response', 'ResponseHeadersTooLarge'].includes(code))
      return new Failure(`${origin} does not speak that protocol: check http:// or https://, and the port`)
    return new Unanswered(`the request to ${origin} failed (${code || message.replaceAll(/\s+/g, ' ')})`)
  }
}

function wrongCertificate(code: string): string {
  if (code.includes('ALTNAME')) return 'is for another name: give that name as --base-url'
  if (/EXPIRED|NOT_YET/.test(code))
    return `is not valid at this time (${code}): its operator has to renew it, or the clock here is wrong`
  return `is not trusted (${code}): name the file of its authority in NODE_EXTRA_CA_CERTS`
}

/** The body of a 200 with JSON, not of a proxy's login page. `url` has no query, which may hold names. */
function bodyOf(answer: Answer, url: string): Uint8Array {
  if (answer.status !== 200) throw refusal(answer, url)
  if (JSON_TYPE.test(answer.type)) return answer.body
  const [type = 'nothing'] = /^[\w.+/-]{1,100}/.exec(answer.type) ?? []
  throw new Failure(`${url} answered ${type}, not JSON: is that the base URL of an axport?`)
}

function refusal(answer: Answer, url: string): Unanswered | Failure {
  const { status, headers } = answer
  if (TEMPORARY.includes(status))
    return new Unanswered(`${url} answered ${status}`, readRetryAfter(headers.get('retry-after')))
  if (status >= 300 && status < 400) {
    const location = headers.get('location')
    // The origin alone: the rest of the location is text of an unknown host.
    const target = location && URL.canParse(location, url) ? ` to ${new URL(location, url).origin}` : ''
    return new Failure(`${url} redirects${target}: give the address where it ends as --base-url`)
  }
  if (status === 414 || status === 431)
    return new Failure(`${url} answered ${status}, the request is too long: give the filters fewer values`)
  const message = messageOf(answer)
  if (!message) return new Failure(`${url} answered ${status}: is that the base URL of an axport?`)
  return /(tenant|product) ids/.test(message)
    ? new Failure(`the service refused: ${message}; its operator has to attach organizations and products`)
    : new Failure(`the service refused: ${message} (status ${status})`)
}

/** The text of an error of spec 7, if it is one: on one line, at most 300 characters. */
function messageOf({ body, type }: Answer): string | undefined {
  const { error, error_description, errors } = JSON_TYPE.test(type) ? readJson(body) : {}
  const first = Array.isArray(errors) ? (errors[0] as { message?: unknown } | null)?.message : undefined
  const text = first ?? error_description ?? error
  return typeof text === 'string' ? text.replaceAll(/[\s\p{Cc}]+/gu, ' ').slice(0, 300) : undefined
}

/** The members of the JSON in the body; none when the body is something else. */
function readJson(body: Uint8Array): Record<string, unknown> {
  try {
    return JSON.parse(Buffer.from(body).toString()) ?? {}
  } catch {
    return {}
  }
}

/** In milliseconds (RFC 9110 §10.2.3). None for the past: clients that all return at once keep a service down. */
function readRetryAfter(header: string | null): number | undefined {
  const value = header?.trim() ?? ''
  const milliseconds = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return milliseconds > 0 ? milliseconds : undefined
}
