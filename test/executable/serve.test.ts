import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { connect } from 'node:net'
import { hostname } from 'node:os'
import { axport, cleanUp, complaint, PATIENCE, serve, start } from '../support/executable.ts'
import { freePort } from '../support/free-port.ts'
import { load, openTestDatabase, type TestDatabase } from '../support/service.ts'

setDefaultTimeout(PATIENCE)

const LIST = '/api/v1/ax/assessments'

let database: TestDatabase
let env: Record<string, string>
let credentials: { client_id: string; client_secret: string }

beforeAll(async () => {
  database = await openTestDatabase('postgres')
  env = { DATABASE_URL: database.url }
  await load(database.sql, [
    { type: 'organization', id: 12, name: 'Lakeside District' },
    { type: 'product', id: 7, name: 'Reading Observation' },
    {
      type: 'user',
      id: 501,
      name: 'Ana M. Ruiz',
      first_name: 'Ana',
      last_name: 'Ruiz',
      email: 'ana@example.org',
    },
    { type: 'user', id: 77, name: 'Pat Proctor' },
    ...[9001, 9002].map(id => ({
      type: 'assessment',
      id,
      user_id: 501,
      organization_id: 12,
      product_id: 7,
      certified_at: '2026-03-01',
      proctor_id: 77,
    })),
  ])
  const { stdout } = await axport(
    ['integration', 'create', 'x', '--organizations', '12', '--products', '7', '--json'],
    { env },
  )
  credentials = JSON.parse(stdout) as typeof credentials
})
afterAll(async () => {
  await cleanUp()
  await database.close()
})

async function authorization(url: string): Promise<{ authorization: string }> {
  const body = new URLSearchParams({ grant_type: 'client_credentials', ...credentials })
  const response = await fetch(`${url}/oauth/token`, { method: 'POST', body })
  const { access_token } = (await response.json()) as { access_token: string }
  return { authorization: `Bearer ${access_token}` }
}

/** The lines of its log; throws when one is not JSON. */
const logOf = ({ stdout }: { stdout(): string }) =>
  stdout()
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as Record<string, unknown>)

describe('serve', () => {
  test('answers token, list and retrieve', async () => {
    const server = await serve(env)
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    const headers = await authorization(server.url)
    const page = await fetch(`${server.url}${LIST}?page=1`, { headers })
    expect(page.status).toBe(200)
    expect(await page.json()).toMatchObject({ data: [{ id: 9001 }], meta: { count: 2, offset: 0, page: 1 } })
    const one = await fetch(`${server.url}${LIST}/9002`, { headers })
    expect(await one.json()).toMatchObject({
      id: 9002,
      name: 'Ana M. Ruiz',
      organization_name: 'Lakeside District',
    })
    expect((await fetch(`${server.url}${LIST}`)).status).toBe(401)
    server.signal('SIGTERM')
    expect(await server.finished).toMatchObject({ code: 0, stderr: '' })
  })

  test.each(['SIGTERM', 'SIGINT'] as const)(
    'ends with exit code 0 after %s, as soon as it listens',
    async signal => {
      for (let run = 0; run < 10; run++) {
        const server = await serve(env)
        server.signal(signal)
        expect(await server.finished).toMatchObject({ code: 0, stderr: '' })
        expect(logOf(server).at(-1)).toMatchObject({ msg: 'stopping', signal })
        expect(await fetch(server.url).catch(error => error.code)).toBe('ECONNREFUSED')
      }
    },
  )

  test('finishes the requests that are in flight, and accepts no more', async () => {
    const server = await serve(env)
    const headers = await authorization(server.url)
    const lock = await database.sql.reserve()
    await lock`begin`
    await lock`lock table export_records in access exclusive mode`
    const inFlight = fetch(`${server.url}${LIST}`, { headers })
    while ((await lock`select from pg_locks where not granted`).length === 0) await Bun.sleep(10)
    server.signal('SIGTERM')
    await server.shows(/"stopping"/)
    while (
      await fetch(server.url, { headers: { connection: 'close' } }).then(
        () => true,
        () => false,
      )
    )
      await Bun.sleep(10)
    expect(server.exitCode()).toBeUndefined()
    await lock`rollback`
    lock.release()
    const response = await inFlight
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ meta: { count: 2 } })
    expect(await server.finished).toMatchObject({ code: 0, stderr: '' })
  })

  test('is not held up for ever by connections that stay open, whatever they are in the middle of', async () => {
    const post =
      'POST /oauth/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n'
    const cases = {
      'nothing yet': '',
      'a request line': 'GET /api',
      'a header': 'GET / HTTP/1.1\r\nhost:',
      'a body': `${post}{"grant`,
      'idle after a request': 'GET / HTTP/1.1\r\nhost: x\r\n\r\n',
    }
    const codes = await Promise.all(
      Object.entries(cases).map(async ([name, text]) => {
        const server = await serve(env)
        const socket = connect(Number(new URL(server.url).port), '127.0.0.1').on('error', () => {})
        await new Promise(resolve => socket.once('connect', resolve))
        socket.write(text)
        // A request behind it, so that the server has surely seen it.
        await (await fetch(server.url)).text()
        server.signal('SIGTERM')
        const patience = setTimeout(() => server.signal('SIGKILL'), 25_000)
        const { code } = await server.finished
        clearTimeout(patience)
        socket.destroy()
        return [name, code]
      }),
    )
    expect(Object.fromEntries(codes)).toEqual(Object.fromEntries(Object.keys(cases).map(name => [name, 0])))
  })

  test('answers a request line of 40 KB with an error in JSON that names the limit, and lives on', async () => {
    const server = await serve(env)
    const headers = await authorization(server.url)
    const ids = Array.from({ length: 1500 }, (_, index) => `filter%5Buser_ids%5D%5B%5D=${index}`).join('&')
    expect(ids.length).toBeGreaterThan(40_000)
    const response = await fetch(`${server.url}${LIST}?${ids}`, { headers })
    expect(response.status).toBe(400)
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(await response.json()).toEqual({ errors: [{ message: expect.stringContaining('16384') }] })
    expect((await fetch(`${server.url}${LIST}`, { headers })).status).toBe(200)
    server.signal('SIGTERM')
    expect(await server.finished).toMatchObject({ code: 0 })
  })

  test('logs a line of JSON a request, without query strings, tokens, secrets or names', async () => {
    const server = await serve(env)
    const headers = await authorization(server.url)
    const paths = [
      `${LIST}?filter[search]=Ruiz&filter[seids][]=998877`,
      `${LIST}/9001?note=Ruiz`,
      '/Ruiz',
      `${LIST}?offset=Ruiz`,
    ]
    for (const path of paths) await (await fetch(`${server.url}${path}`, { headers })).text()
    await (await fetch(`${server.url}${LIST}`, { headers: { authorization: 'Bearer Ruiz' } })).text()
    await (
      await fetch(`${server.url}/oauth/token?client_secret=Ruiz`, { method: 'POST', body: 'Ruiz' })
    ).text()
    server.signal('SIGTERM')
    const { stdout } = await server.finished
    const requests = logOf(server).filter(line => line.msg === 'request')
    expect(requests.map(({ method, status }) => `${method} ${status}`)).toEqual([
      'POST 200',
      'GET 200',
      'GET 200',
      'GET 404',
      'GET 400',
      'GET 401',
      'POST 400',
    ])
    for (const text of [
      'Ruiz',
      '998877',
      'filter',
      '?',
      headers.authorization.slice(7),
      credentials.client_secret,
    ])
      expect(stdout).not.toContain(text)
    for (const line of logOf(server))
      expect(line).toMatchObject({ time: expect.any(String), msg: expect.any(String) })
  })

  test('keeps to LOG_LEVEL', async () => {
    const port = String(await freePort())
    const server = await start(['serve'], { env: { ...env, LOG_LEVEL: 'warn', PORT: port } })
    const answers = () =>
      fetch(`http://127.0.0.1:${port}`).then(
        () => true,
        () => false,
      )
    while (!(await answers())) await Bun.sleep(20)
    server.signal('SIGTERM')
    expect(await server.finished).toEqual({ code: 0, stdout: '', stderr: '' })
  })

  test('ends in one line when its port is in use', async () => {
    const server = await serve(env)
    const { port } = new URL(server.url)
    const second = await axport(['serve'], { env: { ...env, PORT: port } })
    expect(complaint(second, 1)).toBe(
      `port ${port} on 127.0.0.1 is in use: stop what listens there, or set PORT to another one`,
    )
    server.signal('SIGTERM')
    expect((await server.finished).code).toBe(0)
  })

  test('says that the port is in use when HOST is a name of this machine, and that a name is none', async () => {
    const HOST = hostname()
    const server = await serve({ ...env, HOST })
    const { port } = new URL(server.url)
    const second = await axport(['serve'], { env: { ...env, HOST, PORT: port } })
    expect(complaint(second, 1)).toStartWith(`port ${port} on ${HOST} is in use`)
    server.signal('SIGTERM')
    expect((await server.finished).code).toBe(0)
    const third = await axport(['serve'], { env: { ...env, HOST: 'nowhere.invalid', PORT: port } })
    expect(complaint(third, 1)).toStartWith('nowhere.invalid is not an address of this machine')
  })

  test('listens on every address, or on IPv6, where HOST says so', async () => {
    for (const HOST of ['0.0.0.0', '::1']) {
      const server = await serve({ ...env, HOST })
      const { port } = new URL(server.url)
      const reached = HOST === '::1' ? server.url : `http://127.0.0.1:${port}`
      expect((await fetch(`${reached}${LIST}`)).status).toBe(401)
      server.signal('SIGTERM')
      expect((await server.finished).code).toBe(0)
    }
  })
})
