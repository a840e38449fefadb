import { bearer, type Credentials, LIST, send, TOKEN, tokenRequest } from '../../../support/http.ts'
import type { Answer, Kind } from './answer.ts'
import type { Load } from './load.ts'

/** Longer than any answer may take. Without it a service that never answers would look like a quiet one. */
const PATIENCE_MS = 30_000

/** Between two attempts. Shorter than Retry-After asks for, so that recovery is seen when it happens. */
const PAUSE_MS = 100

/** A client as it should be written: one token for its lifetime, and another try after 503, 504 or a cut. */
export class Client {
  #token: string | undefined
  #isStopped = false

  constructor(
    private readonly url: string,
    private readonly credentials: Credentials,
    /** Looks at every answer, and at why there was none. */
    private readonly load: Load,
  ) {}

  /** From now on, attempts are not repeated. */
  stop(): void {
    this.#isStopped = true
  }

  /**
   * The successful answer to GET, however many attempts it takes; undefined for what is not found, and once the
   * client was stopped.
   */
  async get(path: string): Promise<Answer | undefined> {
    while (!this.#isStopped) {
      const answer = this.#token === undefined ? await this.askToken() : await this.ask(path)
      if (answer?.status === 404) return undefined
      if (answer?.status === 200 && answer.kind !== 'token') return answer
      if (answer?.status !== 200 && answer?.status !== 401) await Bun.sleep(PAUSE_MS)
    }
    return undefined
  }

  /** One attempt at anything that needs a token; undefined without one, or when there was no answer. */
  async ask(path: string): Promise<Answer | undefined> {
    if (this.#token === undefined) return undefined
    const kind = path.startsWith(`${LIST}/`) ? 'retrieve' : 'list'
    const answer = await this.#attempt(kind, path, { headers: bearer(this.#token) })
    if (answer?.status === 401) this.#token = undefined
    return answer
  }

  /** One attempt at a new token, which is used from then on. */
  async askToken(): Promise<Answer | undefined> {
    const body = new URLSearchParams(tokenRequest(this.credentials))
    const answer = await this.#attempt('token', TOKEN, { method: 'POST', body })
    if (answer?.status === 200)
      this.#token = (JSON.parse(answer.text) as { access_token: string }).access_token
    return answer
  }

  async #attempt(kind: Kind, path: string, init: RequestInit): Promise<Answer | undefined> {
    const asked = performance.now()
    try {
      const found = await send(this.url, path, { ...init, signal: AbortSignal.timeout(PATIENCE_MS) })
      const answer = { ...found, kind, path, asked, had: performance.now() }
      this.load.answered(answer)
      return answer
    } catch (error) {
      this.load.failed(kind, path, (error as { code?: string }).code ?? String(error))
      return undefined
    }
  }
}
