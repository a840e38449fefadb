import { afterAll, beforeAll, describe, expect } from 'bun:test'
import { expectDocumented } from '../../support/expect-documented.ts'
import type { Line } from '../../support/fixtures.ts'
import * as http from '../../support/http.ts'
import { exchange } from '../../support/raw.ts'
import { startExecutable } from '../../support/served.ts'
import { authorize, load, type TestService } from '../../support/service.ts'

export { type Answer, LIST, type ListBody, TOKEN } from '../../support/http.ts'

/** The organizations and products that an integration may read. */
interface Scope {
  organizations: readonly number[]
  products: readonly number[]
}

/** The scope that contains all of `world()`, and the empty scope. */
export const SCOPE = { organizations: [10], products: [1] }
export const NOTHING = { organizations: [], products: [] }

/** An integration, and a token that was issued to it. */
interface Client {
  clientId: string
  clientSecret: string
  token: string
}

/** The service under test, from the view of a client. `I` has the names of the integrations of the setup. */
export class Api<I extends string> {
  // The beforeAll of contract() sets both fields before any test runs.
  service!: TestService
  clients!: Record<I, Client>
  readonly #default: I

  constructor(defaultClient: I) {
    this.#default = defaultClient
  }

  /**
   * Sends a request with exactly these headers, and checks that the OpenAPI document describes the answer.
   */
  async request(path: string, init: RequestInit = {}): Promise<http.Answer> {
    const answer = await http.send(this.service.baseUrl, path, init)
    expectDocumented(init.method ?? 'GET', path, answer)
    return answer
  }

  /**
   * Does the same for a request that fetch would refuse or normalise. `head` has the request line and the
   * headers.
   */
  async raw(head: readonly string[], body?: string) {
    const { status, headers, body: bytes } = await exchange(this.service.baseUrl, head, body)
    const answer = { status, headers, text: bytes.toString() }
    const [method = '', target = ''] = head[0]?.split(' ') ?? []
    expectDocumented(method, target, answer)
    return answer
  }

  /** GET with the token of an integration, or with the token in `bearer`. */
  get(path: string, as: I | { bearer: string } = this.#default): Promise<http.Answer> {
    return this.request(path, { headers: this.bearer(as) })
  }

  /** The Authorization header for a token. */
  bearer(as: I | { bearer: string } = this.#default): { authorization: string } {
    return http.bearer(typeof as === 'string' ? this.clients[as].token : as.bearer)
  }

  /** GET the list; returns answers of any status. */
  tryList(query: http.Query = '', as?: I | { bearer: string }): Promise<http.Answer> {
    return this.get(http.listPath(query), as)
  }

  /** The body of a list; throws unless its status is 200. */
  async list(query: http.Query = '', as?: I | { bearer: string }): Promise<http.ListBody> {
    return http.successful(await this.tryList(query, as)) as http.ListBody
  }

  /** The ids of a list that fits on one page, in its order; throws if `meta.count` is another number. */
  async ids(query: http.Query = '', as?: I | { bearer: string }): Promise<number[]> {
    return http.idsOf(await this.list(query, as))
  }

  /** POST /oauth/token with form parameters, or with the text of a form. */
  tokenByForm(params: http.Query, headers: Record<string, string> = {}): Promise<http.Answer> {
    const body = typeof params === 'string' ? params : new URLSearchParams(params).toString()
    return this.#post('application/x-www-form-urlencoded', body, headers)
  }

  /** POST /oauth/token with a JSON body; a string is sent unchanged. */
  tokenByJson(body: unknown, headers: Record<string, string> = {}): Promise<http.Answer> {
    return this.#post('application/json', typeof body === 'string' ? body : JSON.stringify(body), headers)
  }

  #post(type: string, body: string, headers: Record<string, string>): Promise<http.Answer> {
    return this.request(http.TOKEN, { method: 'POST', headers: { 'content-type': type, ...headers }, body })
  }

  /** The three parameters of a valid token request. */
  credentials(as: I = this.#default) {
    return http.tokenRequest(this.clients[as])
  }

  /** The valid HTTP Basic header of an integration. */
  basic(as: I = this.#default): { authorization: string } {
    const { clientId, clientSecret } = this.clients[as]
    return { authorization: basic(clientId, clientSecret) }
  }

  /** Sets the end of a token to this many seconds from now; by default to the past. */
  async expire(token: string, seconds = -1): Promise<void> {
    await this.service.sql`
      update access_tokens set expires_at = now() + make_interval(secs => ${seconds})
      where digest = sha256(convert_to(${token}, 'UTF8'))`
  }

  /** Requests a further token for an integration. */
  async newToken(as: I = this.#default): Promise<string> {
    return (http.successful(await this.tokenByForm(this.credentials(as))) as { access_token: string })
      .access_token
  }
}

/**
 * Declares tests of the executable, with `lines` and `integrations`. Requests use the first integration unless a test
 * names another.
 */
export function contract<I extends string>(
  subject: string,
  setup: { lines: readonly Line[]; integrations: Record<I, Scope> },
  facts: (api: Api<I>) => void,
): void {
  describe(subject, () => {
    const names = Object.keys(setup.integrations) as I[]
    const api = new Api<I>(names[0] as I)

    beforeAll(async () => {
      api.service = await startExecutable()
      await load(api.service.sql, [...setup.lines])
      const clients: [I, Client][] = []
      for (const name of names) {
        const { organizations, products } = setup.integrations[name]
        clients.push([name, await authorize(api.service, [...organizations], [...products])])
      }
      api.clients = Object.fromEntries(clients) as Record<I, Client>
    })

    // If beforeAll failed, there is no service, and the failure of beforeAll must be the reported one.
    afterAll(() => api.service?.close())

    facts(api)
  })
}

/** The parameter that every valid token request has. */
export const GRANT = { grant_type: 'client_credentials' }

/** The value of the Authorization header for HTTP Basic. */
export function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
}

/** The body of an OAuth error: exactly `error` and a printable `error_description` (RFC 6749 §5.2). */
export function oauthError(error: string) {
  return { error, error_description: expect.stringMatching(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/) }
}

/** Expects exactly this OAuth error. */
export function expectOAuthError(answer: http.Answer, status: number, error: string): void {
  expect(answer.body).toEqual(oauthError(error))
  expect(answer.status).toBe(status)
}

/** Expects an issued token, and checks the token by using it. */
export async function expectToken<I extends string>(api: Api<I>, answer: http.Answer): Promise<void> {
  expect(answer.status).toBe(200)
  const { access_token: bearer } = answer.body as { access_token: string }
  expect((await api.tryList('', { bearer })).status).toBe(200)
}

/** Expects a 400 that names only the parameter with the invalid value. */
export function expectUnreadable(answer: http.Answer, parameter: string): void {
  expect(answer.body).toEqual({ errors: [{ message: expect.stringMatching(/\S/), parameter }] })
  expect(answer.status).toBe(400)
}

/** The body of an API error that names no parameter: exactly one message. */
export function messageOnly(message = /\S/) {
  return { errors: [{ message: expect.stringMatching(message) }] }
}
