import { bearer, type Credentials, LIST, send, TOKEN, tokenRequest } from '../../../support/http.ts'
import type { Answer, Kind } from './answer.ts'
import type { Load } from './load.ts'

/** Longer than any answer may take. Without a timeout, a service that never answers would show no fault. */
const TIMEOUT_MS = 30_000

/** The pause between two attempts. It is shorter than Retry-After, so that the test measures the recovery exactly. */
const PAUSE_MS = 100

/**
 * A well-behaved client: it keeps its token for the token's lifetime, and retries after 503, 504 or a lost connection.
 */
export class Client {
  #token: string | undefined
  #isStopped = false

  constructor(
    private readonly url: string,
    private readonly credentials: Credentials,
    /** Checks every answer, and every reason for a missing answer. */
    private readonly load: Load,
  ) {}

  /** Ends the repetition of attempts. */
  stop(): void {
    this.#isStopped = true
  }

  /**
   * The successful answer to GET, after any number of attempts; undefined for a 404, and after stop().
   */
  async get(path: string): Promise<Answer | undefined> {
    while (!this.#isStopped) {
      const answer = this.#token === undefined ? await this.requestToken() : await this.attempt(path)
      if (answer?.status === 404) return undefined
      if (answer?.status === 200 && answer.kind !== 'token') return answer
      if (answer?.status !== 200 && answer?.status !== 401) await Bun.sleep(PAUSE_MS)
    }
    return undefined
  }

  /** One attempt of a GET with the token; undefined if the client has no token or gets no answer. */
  async attempt(path: string): Promise<Answer | undefined> {
    if (this.#token === undefined) return undefined
    const kind = path.startsWith(`${LIST}/`) ? 'retrieve' : 'list'
    const answer = await this.#attempt(kind, path, { headers: bearer(this.#token) })
    if (answer?.status === 401) this.#token = undefined
    return answer
  }

  /** One attempt to get a new token, which later requests use. */
  async requestToken(): Promise<Answer | undefined> {
    const body = new URLSearchParams(tokenRequest(this.credentials))
    const answer = await this.#attempt('token', TOKEN, { method: 'POST', body })
    if (answer?.status === 200)
      this.#token = (JSON.parse(answer.text) as { access_token: string }).access_token
    return answer
  }

  async #attempt(kind: Kind, path: string, init: RequestInit): Promise<Answer | undefined> {
    const sentAt = performance.now()
    try {
      const found = await send(this.url, path, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) })
      const answer = { ...found, kind, path, sentAt, receivedAt: performance.now() }
      this.load.answered(answer)
      return answer
    } catch (error) {
      this.load.failed(kind, path, (error as { code?: string }).code ?? String(error))
      return undefined
    }
  }
}
