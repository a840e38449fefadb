import { Failure } from '../errors.ts'
import { isJson, readJson, refusal } from './refusal.ts'
import { type Answer, BrokenOff, isLoopback, request, Unanswered } from './request.ts'
import { type OnPause, retrying } from './retry.ts'

/** A service and who asks it. */
export interface Service {
  /** "https://host/prefix", without a slash at its end. */
  baseUrl: string
  clientId: string
  clientSecret: string
}

/** How long to wait for what. */
export interface Patience {
  /** For one answer, from connecting to its last byte. */
  timeoutMs: number
  /** For a service that does not answer well. */
  retryForMs: number
}

/** A host that has never answered is rather a wrong address than a service that restarts. */
const FIRST_CONTACT_MS = 10_000

/** A token is not used in its last minute: the request that takes it may be a slow one. */
const MARGIN_S = 60

/** Tokens that the service may refuse for one request before it is believed. */
const MOST_REFUSALS = 2

/** Reads lists of a service: one request at a time, one token for its lifetime. */
export class Client {
  private token: { text: string; until: number } | undefined
  private hasAnswered = false

  constructor(
    private readonly service: Service,
    private readonly patience: Patience,
    private readonly onPause: OnPause,
  ) {}

  /**
   * The body of a list answer, for a query string without its "?".
   * @throws Failure for whatever time does not heal
   */
  async list(queryString: string): Promise<Uint8Array> {
    const url = `${this.service.baseUrl}/api/v1/ax/assessments`
    // Across a network a page is a fifth of its size compressed; on one machine that is only work.
    const coding: Record<string, string> = isLoopback(url) ? { 'accept-encoding': 'identity' } : {}
    let refusals = 0
    const attempt = async () => {
      const headers = { ...coding, authorization: `Bearer ${await this.currentToken()}` }
      const answer = await this.send(`${url}?${queryString}`, { headers })
      if (answer.status === 401) throw this.refusedToken(++refusals)
      if (answer.status !== 200) throw refusal(answer, url)
      return expectJson(answer, url).body
    }
    return await retrying(attempt, () => this.patienceMs(), this.onPause)
  }

  /** At once with a fresh token (spec 5); a token that is fresh already may not have got to every server yet. */
  private refusedToken(refusals: number): Error {
    this.token = undefined
    if (refusals <= MOST_REFUSALS)
      return new Unanswered('the service refused its token', refusals === 1 ? 0 : undefined)
    return new Failure('the service refuses the tokens that it issues: ask its operator')
  }

  private async currentToken(): Promise<string> {
    if (!this.token || performance.now() > this.token.until) this.token = await this.requestToken()
    return this.token.text
  }

  private async requestToken(): Promise<{ text: string; until: number }> {
    const { baseUrl, clientId, clientSecret } = this.service
    const url = `${baseUrl}/oauth/token`
    const body = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    })
    const asked = performance.now()
    const answer = await this.send(url, { method: 'POST', body })
    if (answer.status === 401)
      throw new Failure('the service refuses the client id or its secret: check both, or ask its operator')
    if (answer.status !== 200) throw refusal(answer, url)
    const { access_token, expires_in } = (readJson(expectJson(answer, url)) ?? {}) as Record<string, unknown>
    if (typeof access_token !== 'string' || !/^[\x21-\x7e]+$/.test(access_token))
      throw new Failure(`${url} answered without a token: is ${baseUrl} the base URL of an axport?`)
    const seconds = typeof expires_in === 'number' ? expires_in : 0
    return { text: access_token, until: asked + Math.max(seconds - MARGIN_S, seconds / 2) * 1000 }
  }

  private async send(url: string, init: RequestInit): Promise<Answer> {
    try {
      const answer = await request(url, init, this.patience.timeoutMs)
      this.hasAnswered = true
      return answer
    } catch (error) {
      if (error instanceof BrokenOff && !this.hasAnswered && url.startsWith('http:'))
        throw new Unanswered(`${error.message}, as a port for https:// does`)
      throw error
    }
  }

  private patienceMs(): number {
    const { retryForMs } = this.patience
    return this.hasAnswered ? retryForMs : Math.min(retryForMs, FIRST_CONTACT_MS)
  }
}

/** A login page or a proxy's page may come with status 200. */
function expectJson(answer: Answer, url: string): Answer {
  if (isJson(answer.headers)) return answer
  const [type = 'nothing'] = /^[\w.+/-]{1,100}/.exec(answer.headers.get('content-type') ?? '') ?? []
  throw new Failure(`${url} answered ${type}, not JSON: is that the base URL of an axport?`)
}
