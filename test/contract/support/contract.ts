import { afterAll, beforeAll, describe, expect } from 'bun:test'
import { expectDocumented } from '../../support/documented.ts'
import { authorize, BACKENDS, load, startService, type TestService } from '../../support/service.ts'
import type { Line } from './lines.ts'

/** What an integration may read: organization ids, product ids. */
export type Scope = readonly [organizationIds: readonly number[], productIds: readonly number[]]

/** A provisioned integration and a token that was issued to it. */
export interface Client {
  clientId: string
  clientSecret: string
  token: string
}

/** A whole answer; `body` is the parsed text, undefined where there is none. */
export interface Answer {
  status: number
  headers: Headers
  text: string
  body: unknown
}

/** Spec 2.1, 2.2 and 2.3. */
export interface ListBody {
  data: {
    id: number
    seid: string | null
    name: string
    first_name: string
    last_name: string
    email: string
    organization_id: number
    organization_name: string
    assessment_name: string
    certified_on: string
    results: {
      assessment_id: number
      assessment_name: string
      certified_on: string
      proctor_id: number
      proctor_name: string
    }[]
  }[]
  meta: { count: number; offset: number; page: number }
}

/** A query as it shall stand in the URL, or parameters still to be encoded. */
type Query = string | Record<string, string> | [name: string, value: string][]

export const LIST = '/api/v1/ax/assessments'
export const TOKEN = '/oauth/token'

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
  async request(path: string, init: RequestInit = {}): Promise<Answer> {
    const response = await fetch(this.service.baseUrl + path, { redirect: 'manual', ...init })
    const text = await response.text()
    const answer = { status: response.status, headers: response.headers, text, body: parsed(text) }
    expectDocumented(init.method ?? 'GET', path, answer)
    return answer
  }

  /** GET with a token: that of an integration, or the one in `bearer`. */
  get(path: string, as: I | { bearer: string } = this.#default): Promise<Answer> {
    const token = typeof as === 'string' ? this.clients[as].token : as.bearer
    return this.request(path, { headers: { authorization: `Bearer ${token}` } })
  }

  /** GET the list, whatever the answer. */
  tryList(query: Query = '', as?: I | { bearer: string }): Promise<Answer> {
    const text = typeof query === 'string' ? query : new URLSearchParams(query).toString()
    return this.get(text === '' ? LIST : `${LIST}?${text}`, as)
  }

  /** The body of a list that has to succeed. */
  async list(query: Query = '', as?: I | { bearer: string }): Promise<ListBody> {
    const { status, body, text } = await this.tryList(query, as)
    if (status !== 200)
      throw new Error(`expected a list for ${JSON.stringify(query)}, got ${status}: ${text}`)
    return body as ListBody
  }

  /** The ids of a list that fits on one page, in its order; `meta.count` must agree. */
  async ids(query: Query = '', as?: I | { bearer: string }): Promise<number[]> {
    const { data, meta } = await this.list(query, as)
    expect(meta.count).toBe(data.length)
    return data.map(record => record.id)
  }

  /** POST /oauth/token with form parameters. */
  tokenByForm(
    params: Record<string, string> | [name: string, value: string][] | string,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const body = typeof params === 'string' ? params : new URLSearchParams(params).toString()
    return this.request(TOKEN, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body,
    })
  }

  /** POST /oauth/token with a JSON body; text is sent as it is. */
  tokenByJson(body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.request(TOKEN, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  }

  /** The three parameters of a request that succeeds. */
  credentials(as: I = this.#default): { grant_type: string; client_id: string; client_secret: string } {
    const { clientId, clientSecret } = this.clients[as]
    return { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }
  }

  /** A further token for an integration. */
  async newToken(as: I = this.#default): Promise<string> {
    const { status, body, text } = await this.tokenByForm(this.credentials(as))
    if (status !== 200) throw new Error(`expected a token, got ${status}: ${text}`)
    return (body as { access_token: string }).access_token
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
        const [organizationIds, productIds] = setup.integrations[name]
        clients.push([name, await authorize(api.service, [...organizationIds], [...productIds])])
      }
      api.clients = Object.fromEntries(clients) as Record<I, Client>
    })

    // Without a service the failure of beforeAll is the one to be seen.
    afterAll(() => api.service?.close())

    facts(api)
  })
}

/** The value of an HTTP Basic Authorization header. */
export function basic(user: string, password: string, scheme = 'Basic'): string {
  return `${scheme} ${Buffer.from(`${user}:${password}`).toString('base64')}`
}

/** The body of an OAuth error: exactly `error` and a printable `error_description` (protocol 15). */
export function oauthError(error: string) {
  return { error, error_description: expect.stringMatching(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/) }
}

/** An answer that is this OAuth error and nothing else. */
export function expectOAuthError(answer: Answer, status: number, error: string): void {
  expect(answer.body).toEqual(oauthError(error))
  expect(answer.status).toBe(status)
}

/** An issued token; that it is one is settled by using it. */
export async function expectToken<I extends string>(api: Api<I>, answer: Answer): Promise<void> {
  expect(answer.status).toBe(200)
  const { access_token: bearer } = answer.body as { access_token: string }
  expect((await api.tryList('', { bearer })).status).toBe(200)
}

/** A 400 that names the one parameter which can not be read (design, section 5). */
export function expectUnreadable(answer: Answer, parameter: string): void {
  expect(answer.status).toBe(400)
  // The documents do not say whether an array is named with or without its empty brackets.
  const name = answer.body as { errors: { parameter: string }[] }
  expect(name.errors?.map(error => error.parameter?.replace(/\[\]$/, ''))).toEqual([parameter])
  expect(answer.body).toEqual({
    errors: [{ message: expect.stringMatching(/\S/), parameter: expect.any(String) }],
  })
}

/** An error of the API that is about no parameter: exactly one message. */
export function messageOnly(message = /\S/) {
  return { errors: [{ message: expect.stringMatching(message) }] }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
