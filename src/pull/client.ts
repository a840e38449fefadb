import { Failure } from '../errors.ts'
import { type Answer, ConnectionClosed, isLoopback, request, retrying, Unanswered } from './request.ts'

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

/** A token is replaced this long before it expires, because a request may be slow. */
const TOKEN_MARGIN_MS = 60_000

/** How often one request gets a new token after a 401. */
const MAX_NEW_TOKENS = 2

/** Statuses of overload, of a restart, and of a proxy without its service. */
const TEMPORARY = [408, 429, 500, 502, 503, 504]

/** Reads lists of a service, with one token for its lifetime. */
export class Client {
  private token: { text: string; until: number } | undefined
  private hasAnswered = false

  constructor(
    private readonly service: Service,
    private readonly onPause: (reason: string, milliseconds: number) => void,
  ) {}

  /**
   * The body of a list answer, for a query string without its "?".
   * @throws TransientFailure when `retryForMs` is over; Failure for an error that another attempt cannot change
   */
  async list(queryString: string): Promise<Uint8Array> {
    const url = `${this.service.baseUrl}/api/v1/ax/assessments`
    // Compression makes a page five times smaller, and costs time that a loopback connection does not win back.
    const encoding: Record<string, string> = isLoopback(url) ? { 'accept-encoding': 'identity' } : {}
    let refusals = 0
    const attempt = async () => {
      const headers = { ...encoding, authorization: `Bearer ${await this.currentToken()}` }
      const answer = await this.send(`${url}?${queryString}`, { headers })
      if (answer.status === 401) throw this.refusedToken(++refusals)
      return jsonOf(answer, url).body
    }
    const retryForMs = () =>
      this.hasAnswered ? this.service.retryForMs : Math.min(this.service.retryForMs, FIRST_ANSWER_MS)
    return await retrying(attempt, retryForMs, this.onPause)
  }

  /** Retries at once (spec 5), then after a pause: another server may not have a new token yet. */
  private refusedToken(refusals: number): Error {
    this.token = undefined
    if (refusals > MAX_NEW_TOKENS)
      return new Failure('the service refuses the tokens that it issues: ask its operator')
    return new Unanswered('the service refused its token', refusals === 1 ? 0 : undefined)
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
    const { access_token, expires_in } = readJson(jsonOf(answer, url))
    if (typeof access_token !== 'string' || !/^[\x21-\x7e]+$/.test(access_token))
      throw new Failure(`${url} answered without a token: is ${baseUrl} the base URL of an axport?`)
    const lifetime = typeof expires_in === 'number' ? expires_in * 1000 : 0
    const until = start + Math.max(lifetime - TOKEN_MARGIN_MS, lifetime / 2)
    this.token = { text: access_token, until }
    return access_token
  }

  private async send(url: string, init: RequestInit): Promise<Answer> {
    try {
      const answer = await request(url, init, this.service.timeoutMs)
      this.hasAnswered = true
      return answer
    } catch (error) {
      if (error instanceof ConnectionClosed && !this.hasAnswered && url.startsWith('http:'))
        throw new Unanswered(`${error.message}, as a port for https:// does`)
      throw error
    }
  }
}

/**
 * The answer, if it is a 200 with JSON; a login page of a proxy may be a 200, too.
 * @param url of the request, without its query, which may hold names
 * @throws Unanswered; Failure
 */
function jsonOf(answer: Answer, url: string): Answer {
  if (answer.status !== 200) throw refusal(answer, url)
  if (isJson(answer)) return answer
  const [type = 'nothing'] = /^[\w.+/-]{1,100}/.exec(answer.headers.get('content-type') ?? '') ?? []
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
function messageOf(answer: Answer): string | undefined {
  const { error, error_description, errors } = readJson(answer)
  const first = Array.isArray(errors) ? (errors[0] as { message?: unknown } | null)?.message : undefined
  const text = first ?? error_description ?? error
  return typeof text === 'string' ? text.replaceAll(/[\s\p{Cc}]+/gu, ' ').slice(0, 300) : undefined
}

/** The members of the JSON in the body; none when the body is something else. */
function readJson(answer: Answer): Record<string, unknown> {
  try {
    return (isJson(answer) && JSON.parse(Buffer.from(answer.body).toString())) || {}
  } catch {
    return {}
  }
}

function isJson({ headers }: Answer): boolean {
  return /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(headers.get('content-type') ?? '')
}

/**
 * A Retry-After header (RFC 9110 §10.2.3), seconds or a date, in milliseconds. Undefined when it is in the past or
 * invalid: clients that all come back at once keep a service down.
 */
function readRetryAfter(header: string | null): number | undefined {
  const value = header?.trim() ?? ''
  const milliseconds = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return milliseconds > 0 ? milliseconds : undefined
}
