import { describe, expect, test } from 'bun:test'
import { bearer } from '@elysiajs/bearer'
import { Elysia, t } from 'elysia'

// What src/app closes or goes around. A test that fails with a new version says what may go from there.

const URL = 'http://service.example/'

/** The answer of an app, as JSON. */
const answer = async (app: { handle(request: Request): Promise<Response> }, request: Request) =>
  (await (await app.handle(request)).json()) as unknown

describe('the bearer plugin', () => {
  const app = new Elysia().use(bearer()).get('/', ({ bearer }) => ({ token: bearer ?? 'none' }))
  const tokenOf = (authorization: string, address = URL) =>
    answer(app, new Request(address, { headers: { authorization } }))

  test('finds no token after the scheme in lower case, and looks into the query instead', async () => {
    expect(await tokenOf('bearer abc')).toEqual({ token: 'none' })
    expect(await tokenOf('bearer abc', `${URL}?access_token=abc`)).toEqual({ token: 'abc' })
  })

  test('takes any character for the blank after the scheme', async () => {
    expect(await tokenOf('Bearer-abc')).toEqual({ token: 'abc' })
  })
})

test.each([
  [true, 'http://x/a', 404],
  [true, 'https://abc/a', 200],
  [false, 'http://x/a', 200],
  [false, 'https://abc/a', 404],
] as const)("Elysia's path begins at a fixed place: with standardHostname %p, %s is %i", async (...trial) => {
  const [standardHostname, address, status] = trial
  const app = new Elysia({ handler: { standardHostname } }).all('/a', () => 'found')
  expect((await app.handle(new Request(address))).status).toBe(status)
})

describe("Elysia's query", () => {
  const list = t.Object({ ids: t.Optional(t.Array(t.String())), offset: t.Optional(t.Integer()) })
  const app = new Elysia().get('/', ({ query }) => query, { query: list })
  const plain = new Elysia().get('/', ({ query }) => query)

  test.each([
    ['a comma separates the values of a list', 'ids=1,2', { ids: ['1', '2'] }],
    ['brackets around a value make it a list', 'ids=[1]', { ids: ['1'] }],
    ['a name with brackets is another name', 'ids[]=1', {}],
    ['a number loses digits', 'offset=9007199254740993', { offset: 9007199254740992 }],
    ['a number may have an exponent', 'offset=1e1', { offset: 10 }],
  ])('is not read as the contract has it: %s', async (_, queryString, read) => {
    expect(await answer(app, new Request(`${URL}?${queryString}`))).toEqual(read)
  })

  test('keeps an escape that is not UTF-8', async () => {
    expect(await answer(plain, new Request(`${URL}?search=%FF`))).toEqual({ search: '%FF' })
  })
})

describe("Elysia's body", () => {
  const app = new Elysia()
    .onError(({ error }) => ({ error: String((error as Error).message) }))
    .post('/', ({ body }) => body ?? 'none', { body: t.Object({ client_secret: t.String() }) })
  const read = (type: string, body: string) =>
    answer(app, new Request(URL, { method: 'POST', headers: { 'content-type': type }, body }))

  test('is read as JSON only if the media type is in lower case', async () => {
    expect(await read('APPLICATION/JSON', '{"client_secret":"a"}')).toHaveProperty('error')
  })

  test('is read as a form for some other media type', async () => {
    expect(await read('application/x-ndjson', 'client_secret=a')).toEqual({ client_secret: 'a' })
  })

  test('stands in the message of the error that its validator throws', async () => {
    const refused = await read('application/json', '{"client_secret":["very secret"]}')
    expect(JSON.stringify(refused)).toContain('very secret')
  })
})
