import { afterAll, beforeAll, describe, expect } from 'bun:test'
import { expectDocumented } from '../../support/expect-documented.ts'
import type { Line } from '../../support/fixtures.ts'
import * as http from '../../support/http.ts'
import { exchange } from '../../support/raw.ts'
import { authorize, BACKENDS, load, startService, type TestService } from '../../support/service.ts'

export { type Answer, LIST, type ListBody, TOKEN } from '../../support/http.ts'

/** What an integration may read, by ids. */
interface Scope {
  organizations: readonly number[]
  products: readonly number[]
}

/** The scope of what `world()` holds, and the empty one. */
export const SCOPE = { organizations: [10], products: [1] }
export const NOTHING = { organizations: [], products: [] }

/** A provisioned integration and a token that was issued to it. */
interface Client {
  clientId: string
  clientSecret: string
  token: string
}

/** The service under test as a client sees it. `I` are the names of the integrations that were set up. */
export class Api<I extends string> {
  // Both are there once the file's beforeAll has run, which is before any test asks.
  service!: TestService
  clients!: Record<I, Client>
  readonly #default: I

  constructor(defaultClient: I) {
    this.#default = defaultClient
  }

  /** Any request, with exactly these headers. Its answer has to be one that the OpenAPI document describes. */
  async request(path: string, init: RequestInit = {}): Promise<http.Answer> {
    const answer = await http.send(this.service.baseUrl, path, init)
    expectDocumented(init.method ?? 'GET', path, answer)
    return answer
  }

  /** The same for a request that fetch would refuse or normalise: request line and headers; `text` is its body. */
  async raw(head: readonly string[], body?: string) {
    const { status, headers, body: bytes } = await exchange(this.service.baseUrl, head, body)
    const answer = { status, headers, text: bytes.toString() }
    const [method = '', target = ''] = head[0]?.split(' ') ?? []
    expectDocumented(method, target, answer)
    return answer
  }

  /** GET with a token: that of an integration, or the one in `bearer`. */
  get(path: string, as: I | { bearer: string } = this.#default): Promise<http.Answer> {
    return this.request(path, { headers: this.bearer(as) })
  }

  /** The header that carries a token. */
  bearer(as: I | { bearer: string } = this.#default): { authorization: string } {
    return http.bearer(typeof as === 'string' ? this.clients[as].token : as.bearer)
  }

  /** GET the list, whatever the answer. */
  tryList(query: http.Query = '', as?: I | { bearer: string }): Promise<http.Answer> {
    return this.get(http.listPath(query), as)
  }

  /** The body of a list that has to succeed. */
  async list(query: http.Query = '', as?: I | { bearer: string }): Promise<http.ListBody> {
    return http.successful(await this.tryList(query, as)) as http.ListBody
  }

  /** The ids of a list that fits on one page, in its order; `meta.count` must agree. */
  async ids(query: http.Query = '', as?: I | { bearer: string }): Promise<number[]> {
    return http.idsOf(await this.list(query, as))
  }

  /** POST /oauth/token with form parameters, or the text of a form. */
  tokenByForm(params: http.Query, headers: Record<string, string> = {}): Promise<http.Answer> {
    const body = typeof params === 'string' ? params : new URLSearchParams(params).toString()
    return this.#post('application/x-www-form-urlencoded', body, headers)
  }

  /** POST /oauth/token with a JSON body; text is sent as it is. */
  tokenByJson(body: unknown, headers: Record<string, string> = {}): Promise<http.Answer> {
    return this.#post('application/json', typeof body === 'string' ? body : JSON.stringify(body), headers)
  }

  #post(type: string, body: string, headers: Record<string, string>): Promise<http.Answer> {
    return this.request(http.TOKEN, { method: 'POST', headers: { 'content-type': type, ...headers }, body })
  }

  /** The three parameters of a request that succeeds. */
  credentials(as: I = this.#default) {
    return http.tokenRequest(this.clients[as])
  }

  /** The header of HTTP Basic that succeeds. */
  basic(as: I = this.#default): { authorization: string } {
    const { clientId, clientSecret } = this.clients[as]
    return { authorization: basic(clientId, clientSecret) }
  }

  /** Puts the end of a token so many seconds from now; before now unless told otherwise. */
  async expire(token: string, seconds = -1): Promise<void> {
    await this.service.sql`
      update access_tokens set expires_at = now() + make_interval(secs => ${seconds})
      where digest = sha256(convert_to(${token}, 'UTF8'))`
  }

  /** A further token for an integration. */
  async newToken(as: I = this.#default): Promise<string> {
    return (http.successful(await this.tokenByForm(this.credentials(as))) as { access_token: string })
      .access_token
  }
}

/**
 * States facts about the service, on each backend: a service of its own that holds `lines` and has
 * `integrations`, the first of which speaks unless a test names another.
 */
export function contract<I extends string>(
  subject: string,
  setup: { lines: readonly Line[]; integrations: Record<I, Scope> },
  facts: (api: Api<I>) => void,
): void {
  describe.each(BACKENDS)(`${subject} (%s)`, backend => {
    const names = Object.keys(setup.integrations) as I[]
    const api = new Api<I>(names[0] as I)

    beforeAll(async () => {
      api.service = await startService(backend)
      await load(api.service.sql, [...setup.lines])
      const clients: [I, Client][] = []
      for (const name of names) {
        const { organizations, products } = setup.integrations[name]
        clients.push([name, await authorize(api.service, [...organizations], [...products])])
      }
      api.clients = Object.fromEntries(clients) as Record<I, Client>
    })

    // Without a service the failure of beforeAll is the one to be seen.
    afterAll(() => api.service?.close())

    facts(api)
  })
}

/** The parameter of every token request that succeeds. */
export const GRANT = { grant_type: 'client_credentials' }

/** The value of an HTTP Basic Authorization header. */
export function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
}

/** The body of an OAuth error: exactly `error` and a printable `error_description` (protocol 15). */
export function oauthError(error: string) {
  return { error, error_description: expect.stringMatching(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/) }
}

/** An answer that is this OAuth error and nothing else. */
export function expectOAuthError(answer: http.Answer, status: number, error: string): void {
  expect(answer.body).toEqual(oauthError(error))
  expect(answer.status).toBe(status)
}

/** An issued token; that it is one is settled by using it. */
export async function expectToken<I extends string>(api: Api<I>, answer: http.Answer): Promise<void> {
  expect(answer.status).toBe(200)
  const { access_token: bearer } = answer.body as { access_token: string }
  expect((await api.tryList('', { bearer })).status).toBe(200)
}

/** A 400 that names the one parameter which cannot be read (design, section 5). */
export function expectUnreadable(answer: http.Answer, parameter: string): void {
  expect(answer.body).toEqual({ errors: [{ message: expect.stringMatching(/\S/), parameter }] })
  expect(answer.status).toBe(400)
}

/** An error of the API that is about no parameter: exactly one message. */
export function messageOnly(message = /\S/) {
  return { errors: [{ message: expect.stringMatching(message) }] }
}
