import { Failure } from '../errors.ts'
import { type Answer, bodyOf, explain, readJson, Unanswered } from './failures.ts'
import type { PullObserver } from './job.ts'

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
/** How often one request gets a new token after a 401. */
const MAX_NEW_TOKENS = 2

/** Whether a URL leads to this machine. */
export const isLoopback = (url: string) =>
  /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(url).hostname)

/** Reads lists of a service. A token is used until the service refuses it. */
export class ApiClient {
  private token: string | undefined
  private hasAnswered = false

  constructor(
    private readonly service: Service,
    private readonly observer: Pick<PullObserver, 'onPause'>,
  ) {}

  /** The body of a list answer. @throws Failure after `retryForMs`, or at once if retrying cannot help */
  async list(queryString: string): Promise<Uint8Array> {
    const url = `${this.service.baseUrl}/api/v1/ax/assessments`
    const start = performance.now()
    for (let attempts = 1, refusals = 0; ; attempts++) {
      try {
        this.token ??= await this.newToken()
        const headers = { authorization: `Bearer ${this.token}` }
        const answer = await this.send(`${url}?${queryString}`, { headers })
        if (answer.status !== 401) return bodyOf(answer, url)
        this.token = undefined
        if (++refusals > MAX_NEW_TOKENS)
          throw new Failure('the service refuses the tokens that it issues: ask its operator')
        // Retries at once, because most tokens have expired; then after a pause.
        throw new Unanswered('the service refused its token', refusals === 1 ? 0 : undefined)
      } catch (error) {
        if (!(error instanceof Unanswered)) throw error
        await this.pause(error, attempts, performance.now() - start)
      }
    }
  }

  /** Pauses double; jitter keeps clients from returning at once. @throws Failure past retryForMs */
  private async pause({ message, retryAfterMs }: Unanswered, attempts: number, passedMs: number) {
    const step = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempts - 1))
    const pauseMs = retryAfterMs ?? step * (0.5 + Math.random() / 2)
    const { retryForMs } = this.service
    if (passedMs + pauseMs > (this.hasAnswered ? retryForMs : Math.min(retryForMs, FIRST_ANSWER_MS))) {
      const wish = retryAfterMs ? `, and asks to come back in ${Math.ceil(retryAfterMs / 1000)} s` : ''
      const count = `${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`
      throw new Failure(`${message}${wish}; gave up after ${count}`)
    }
    if (pauseMs > 0) this.observer.onPause(message, pauseMs)
    await Bun.sleep(pauseMs)
  }

  private async newToken(): Promise<string> {
    const { baseUrl, clientId, clientSecret } = this.service
    const url = `${baseUrl}/oauth/token`
    const body = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    })
    const answer = await this.send(url, { method: 'POST', body })
    if (answer.status === 401)
      throw new Failure('the service refuses the client id or its secret: check both, or ask its operator')
    const { access_token } = readJson(bodyOf(answer, url))
    if (typeof access_token !== 'string' || !/^[\x21-\x7e]+$/.test(access_token))
      throw new Failure(`${url} answered without a token: is ${baseUrl} the base URL of an axport?`)
    return access_token
  }

  /** Sends one request; reads the whole answer. A redirect is not followed: it would take a secret to another host. */
  private async send(url: string, init: RequestInit): Promise<Answer> {
    const { timeoutMs } = this.service
    const { origin } = new URL(url)
    try {
      const response = await fetch(url, {
        ...init,
        // Bun takes the proxy of the environment, for loopback addresses, too.
        ...(isLoopback(url) && { proxy: false }),
        redirect: 'manual',
        signal: AbortSignal.timeout(timeoutMs),
      })
      const body = await response.bytes()
      this.hasAnswered = true
      return { status: response.status, headers: response.headers, body }
    } catch (error) {
      if ((error as Error).name === 'TimeoutError')
        throw new Unanswered(`${origin} did not finish an answer within ${timeoutMs / 1000} s`)
      throw explain(error, origin, !this.hasAnswered)
    }
  }
}
