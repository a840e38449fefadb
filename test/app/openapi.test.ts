import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { LIST_PARAMETERS } from '../../src/contract.ts'
import { world } from '../support/fixtures.ts'
import * as http from '../support/http.ts'
import { authorize, load, startService, type TestService } from '../support/service.ts'

setDefaultTimeout(60_000)

interface Parameter {
  name: string
  in: string
  description: string
  style?: string
  schema: { type: string; default?: unknown; maxItems?: number; enum?: string[] }
}

interface Operation {
  parameters?: Parameter[]
  responses: Record<
    string,
    { content?: { 'application/json': { examples?: Record<string, { value: unknown }> } } }
  >
}

interface Document {
  openapi: string
  info: { description: string }
  paths: Record<string, Record<string, Operation>>
  components: { securitySchemes: Record<string, object> }
}

const { LIST, TOKEN } = http

/** The document has the base address of its request. */
const HOST = { host: 'export.example.org' }

let service: TestService
let json: string
let document: Document
beforeAll(async () => {
  service = await startService()
  json = await (await fetch(`${service.baseUrl}/openapi.json`, { headers: HOST })).text()
  document = JSON.parse(json) as Document
})
afterAll(() => service?.close())

/** The example of an operation for one of its errors. */
function example(method: string, path: string, status: number, name: string): unknown {
  const response = document.paths[path]?.[method]?.responses[status]
  return response?.content?.['application/json'].examples?.[name]?.value
}

describe('the OpenAPI document', () => {
  test('is served as JSON without a token, only to GET and HEAD', async () => {
    const get = await fetch(`${service.baseUrl}/openapi.json`)
    expect(get.status).toBe(200)
    expect(get.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(get.headers.get('x-content-type-options')).toBe('nosniff')
    const head = await fetch(`${service.baseUrl}/openapi.json`, { method: 'HEAD' })
    expect([head.status, await head.text()]).toEqual([200, ''])
    const post = await fetch(`${service.baseUrl}/openapi.json`, { method: 'POST' })
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    expect((await fetch(`${service.baseUrl}/openapi.json/`)).status).toBe(404)
  })

  test('is the same after the first token request, for which Elysia compiles its route', async () => {
    await http.postToken(service.baseUrl, { clientId: 'nobody', clientSecret: 'x' })
    const later = await startService()
    expect(await (await fetch(`${later.baseUrl}/openapi.json`, { headers: HOST })).text()).toBe(json)
    await later.close()
  })

  test('passes all recommended rules of the linter, including warnings', async () => {
    // As YAML: an object takes two seconds to type-check.
    const config = await createConfig('extends: [recommended-strict]')
    const lint = async (source: string) =>
      (await lintFromString({ source, absoluteRef: 'openapi.json', config })).map(
        ({ ruleId, message, location }) => `${ruleId}: ${message} at ${location[0]?.pointer}`,
      )
    expect(await lint(json)).toEqual([])
    // The linter reports a wrong example, so it does check examples.
    expect(await lint(json.replace('"expires_in":7200', '"expires_in":"soon"'))).toHaveLength(1)
  })

  test('has every supported parameter with brackets, default and maximum', () => {
    const parameters = document.paths[LIST]?.get?.parameters ?? []
    const names = Object.keys(LIST_PARAMETERS)
    expect(names).toContain('filter[start_date]')
    expect(names).toContain('filter[seids][]')
    expect(parameters.map(({ name }) => name)).toEqual(names)
    const of = (name: string) => parameters.find(parameter => parameter.name === name)
    for (const parameter of parameters) {
      expect(parameter.in).toBe('query')
      expect(parameter.description).toMatch(/\w/)
      const array = { style: 'form', explode: true, schema: { type: 'array', maxItems: 1000 } }
      if (parameter.name.endsWith('[]')) expect(parameter).toMatchObject(array)
    }
    expect(of('page')).toMatchObject({ schema: { type: 'integer', minimum: 1, default: 50 } })
    expect(of('page')?.description).toContain('reduced to 100')
    expect(of('offset')).toMatchObject({ schema: { type: 'integer', minimum: 0, default: 0 } })
    expect(of('sort')?.schema.default).toBe('certified_on')
    expect(of('order')?.schema).toMatchObject({ enum: ['ASC', 'DESC'], default: 'ASC' })
  })

  test('describes the paging rule and how to get a token', () => {
    expect(document.info.description).toContain('increase it by the page size until it reaches `meta.count`')
    expect(document.components.securitySchemes.clientCredentials).toEqual({
      type: 'oauth2',
      description: expect.any(String),
      flows: { clientCredentials: { tokenUrl: 'oauth/token', scopes: {} } },
    })
  })

  test('has version 3.1 and exactly the three endpoints, with an example for every error with a body', () => {
    expect(document.openapi).toMatch(/^3\.1\.\d$/)
    expect(Object.values(document.paths).flatMap(Object.keys)).toEqual(['post', 'get', 'get'])
    const statuses: Record<string, string[]> = {}
    for (const [path, operations] of Object.entries(document.paths))
      for (const operation of Object.values(operations)) {
        const errors = Object.entries(operation.responses).filter(([status]) => status !== '200')
        statuses[path] = errors.map(([status]) => status)
        for (const [status, { content }] of errors)
          expect([
            path,
            status,
            Object.keys(content?.['application/json'].examples ?? {}).length > 0,
          ]).toEqual([path, status, status !== '431'])
      }
    expect(statuses).toEqual({
      '/oauth/token': ['400', '401', '405', '408', '413', '415', '431', '500', '503', '504'],
      [LIST]: ['400', '401', '405', '431', '500', '503', '504'],
      [`${LIST}/{id}`]: ['400', '401', '404', '405', '431', '500', '503', '504'],
    })
  })

  test('has examples that equal the errors that these requests cause', async () => {
    await load(service.sql, world())
    const main = await authorize(service, [10], [1])
    const withoutOrganizations = await authorize(service, [], [1])
    const withoutProducts = await authorize(service, [10], [])
    const bearer = (token: string) => ({ headers: http.bearer(token) })
    const post = (type: string, body: string) => ({ method: 'POST', headers: { 'content-type': type }, body })
    const form = (body: string) => post('application/x-www-form-urlencoded', body)
    const json = (body: string) => post('application/json', body)
    const wrong = `grant_type=client_credentials&client_id=${main.clientId}&client_secret=x`
    const large = `grant_type=client_credentials&${'x'.repeat(20_000)}`
    const repeated = 'grant_type=client_credentials&client_id=a&client_id=b'
    const basic = { authorization: `Basic ${btoa('a:b')}` }
    const twice = form('grant_type=client_credentials&client_secret=a')
    const inBoth = { ...twice, headers: { ...twice.headers, ...basic } }
    // fetch joins repeated headers in this way.
    const joined = { authorization: `${basic.authorization}, ${basic.authorization}` }
    const twoHeaders = { ...twice, headers: { ...twice.headers, ...joined } }
    const cases: [shown: [string, string, number, string], path: string, init: RequestInit][] = [
      [['get', LIST, 400, 'unreadable'], `${LIST}?page=0&filter[user_ids][]=abc`, bearer(main.token)],
      [['get', LIST, 400, 'encoding'], `${LIST}?filter[search]=%FF`, bearer(main.token)],
      [['get', LIST, 400, 'tooLong'], `${LIST}?${'x'.repeat(20_000)}`, bearer(main.token)],
      [['get', LIST, 400, 'noOrganizations'], LIST, bearer(withoutOrganizations.token)],
      [['get', LIST, 400, 'noProducts'], LIST, bearer(withoutProducts.token)],
      [['get', LIST, 401, 'missing'], LIST, {}],
      [['get', LIST, 401, 'invalid'], LIST, bearer('x')],
      [['get', LIST, 405, 'method'], LIST, { method: 'POST' }],
      [['get', `${LIST}/{id}`, 404, 'notFound'], `${LIST}/1`, bearer(main.token)],
      [['post', TOKEN, 400, 'grantType'], TOKEN, form('grant_type=password')],
      [['post', TOKEN, 400, 'repeated'], TOKEN, form(repeated)],
      [['post', TOKEN, 400, 'inBoth'], TOKEN, inBoth],
      [['post', TOKEN, 400, 'twoHeaders'], TOKEN, twoHeaders],
      [['post', TOKEN, 400, 'contentType'], TOKEN, post('text/plain', repeated)],
      [['post', TOKEN, 400, 'notJson'], TOKEN, json('{')],
      [['post', TOKEN, 400, 'notObject'], TOKEN, json('[]')],
      [['post', TOKEN, 400, 'repeatedKey'], TOKEN, json('{"client_id":"a","client_\\u0069d":"b"}')],
      [['post', TOKEN, 400, 'notString'], TOKEN, json('{"grant_type":1}')],
      [['post', TOKEN, 401, 'client'], TOKEN, form(wrong)],
      [['post', TOKEN, 405, 'method'], TOKEN, {}],
      [['post', TOKEN, 413, 'large'], TOKEN, form(large)],
    ]
    for (const [shown, path, init] of cases) {
      const response = await fetch(service.baseUrl + path, init)
      expect({ shown, status: response.status, body: await response.json() }).toEqual({
        shown,
        status: shown[2],
        body: example(...shown),
      })
    }
  })
})
