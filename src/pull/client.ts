import { Failure, TransientFailure } from '../errors.ts'
import { type Answer, bodyOf, explain, readJson, routeTo, Unanswered } from './failures.ts'
import { type HttpProxy, isLoopback } from './proxy.ts'

/** A service, the credentials for it, and how long to wait for it. */
export interface Service {
  /** "https://host/prefix", without a slash at its end. */
  baseUrl: string
  /** For every request; undefined: none, whatever the environment says. */
  proxy?: HttpProxy | undefined
  clientId: string
  clientSecret: string
  /** For one answer, from connecting to its last byte. */
  timeoutMs: number
  /** For a page, over all attempts. */
  retryForMs: number
}

/** What a client reports. */
export interface ClientObserver {
  /** A request failed, and is sent again in so many milliseconds. */
  onPause(reason: string, milliseconds: number): void
  /** A line for the person who runs the pull: the answers may not be what that person wants. */
  onWarning(text: string): void
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

/** Reads lists of a service, with one token for its lifetime. */
export class Client {
  private token: { text: string; until: number } | undefined
  private hasAnswered = false

  constructor(
    private readonly service: Service,
    private readonly observer: ClientObserver,
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
        if (answer.status !== 401) return bodyOf(answer, url, this.service.proxy)
        this.token = undefined
        if (++refusals > MAX_NEW_TOKENS)
          throw new Failure('the service refuses the tokens that it issues: ask its operator')
        // Retries at once, then after a pause: another server may not have a new token yet.
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
    if (pauseMs > 0) this.observer.onPause(message, pauseMs)
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
    const { access_token, expires_in } = readJson(bodyOf(answer, url, this.service.proxy))
    if (typeof access_token !== 'string' || !/^[\x21-\x7e]+$/.test(access_token))
      throw new Failure(`${url} answered without a token: is ${baseUrl} the base URL of an axport?`)
    const lifetime = typeof expires_in === 'number' ? expires_in * 1000 : 0
    const until = start + Math.max(lifetime - TOKEN_MARGIN_MS, lifetime / 2)
    this.token = { text: access_token, until }
    return access_token
  }

  /** Sends one request; reads the whole answer. A redirect is not followed: it would take a secret to another host. */
  private async send(url: string, init: RequestInit): Promise<Answer> {
    const { timeoutMs, proxy } = this.service
    const { origin } = new URL(url)
    const abort = new AbortController()
    const timer = setTimeout(() => abort.abort(new DOMException('timed out', 'TimeoutError')), timeoutMs)
    try {
      const response = await fetch(url, {
        ...init,
        // The environment has been read; fetch would use its proxy for loopback addresses, too.
        proxy: proxy ? { url: proxy.url, respectNoProxy: false } : false,
        redirect: 'manual',
        signal: abort.signal,
      })
      const chunks: Uint8Array[] = []
      let length = 0
      for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
        length += chunk.byteLength
        if (length > MAX_BYTES)
          throw new Failure(`${origin} sent more than ${MAX_BYTES} bytes: that is no page of an axport`)
        chunks.push(chunk)
      }
      this.hasAnswered = true
      return { status: response.status, headers: response.headers, body: Buffer.concat(chunks) }
    } catch (error) {
      abort.abort()
      if ((error as Error).name === 'TimeoutError')
        throw new Unanswered(
          `${routeTo(origin, proxy)} did not finish an answer within ${timeoutMs / 1000} s`,
        )
      throw explain(error, origin, proxy, !this.hasAnswered)
    } finally {
      clearTimeout(timer)
    }
  }
}
