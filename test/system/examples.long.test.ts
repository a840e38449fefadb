import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { cleanUp, emptyFolder, ended, launch } from '../support/executable.ts'
import { assessment, world } from '../support/fixtures.ts'
import { LIST } from '../support/http.ts'
import { program, requires } from '../support/requires.ts'
import { authorize, load, startService, type TestService } from '../support/service.ts'

setDefaultTimeout(120_000)

const examples = join(import.meta.dir, '..', '..', 'docs', 'integrate', 'examples')
const COUNT = 250
const environment = process.env as Record<string, string>

let service: TestService
let credentials: { AXPORT_CLIENT_ID: string; AXPORT_CLIENT_SECRET: string }
const folder = emptyFolder()
beforeAll(async () => {
  service = await startService('postgres')
  await load(service.sql, [...world(), ...Array.from({ length: COUNT }, (_, at) => assessment(at + 1))])
  const { clientId, clientSecret } = await authorize(service, [10], [1])
  credentials = { AXPORT_CLIENT_ID: clientId, AXPORT_CLIENT_SECRET: clientSecret }
})
afterAll(async () => {
  await service?.close()
  await cleanUp()
})

/**
 * A server in front of the service that answers list requests with these statuses first. null passes a request to the
 * service; 'fewer' does so, too, and lowers the count by one. A token that once got a 401 gets a 401 from then on.
 */
function proxyWith(statuses: (number | 'fewer' | null)[]) {
  const left = [...statuses]
  const refused = new Set<string | null>()
  const proxy = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async request => {
      const { pathname, search } = new URL(request.url)
      const authorization = request.headers.get('authorization')
      const status = pathname !== LIST ? null : refused.has(authorization) ? 401 : left.shift()
      if (status === 401) refused.add(authorization)
      if (typeof status === 'number')
        return new Response('{"errors":[]}', { status, headers: { 'retry-after': '0' } })
      const { method, headers } = request
      const body = method === 'POST' ? await request.text() : null
      const init = { method, headers, body, decompress: status === 'fewer' }
      const answer = await fetch(service.baseUrl + pathname + search, init)
      if (status !== 'fewer') return new Response(answer.body, answer)
      return new Response((await answer.text()).replace(`"count":${COUNT}`, `"count":${COUNT - 1}`))
    },
  })
  return { url: `http://127.0.0.1:${proxy.port}`, left, close: () => proxy.stop(true) }
}

/** Runs an unchanged example against a base URL. */
const run = (command: string[], url: string) =>
  ended(launch(command, { cwd: folder, env: { ...environment, ...credentials, AXPORT_URL: url } }), {})

const programs = [
  { file: 'every-page.ts', command: [process.execPath] },
  { file: 'every_page.py', command: ['python3'] },
  { file: 'every_page.go', command: ['go', 'run'], debianPackage: 'golang-go' },
]

for (const { file, command, debianPackage } of programs) {
  const [executable = ''] = command
  const { describe } = requires(program(executable, debianPackage))
  describe(`docs/integrate/examples/${file}`, () => {
    const example = [...command, join(examples, file)]

    test('gets every record in spite of 503, 504 and 401', async () => {
      const proxy = proxyWith([503, null, 401, 504, null])
      const { stdout, stderr, code } = await run(example, proxy.url)
      proxy.close()
      expect({ code, stderr, left: proxy.left }).toEqual({ code: 0, stderr: '', left: [] })
      const ids = stdout.trimEnd().split('\n').map(Number)
      expect(ids).toEqual(Array.from({ length: COUNT }, (_, at) => at + 1))
    })

    test('ends with an error when the count changes during the walk', async () => {
      const proxy = proxyWith([null, 'fewer'])
      const { stdout, stderr, code } = await run(example, proxy.url)
      proxy.close()
      expect(code).not.toBe(0)
      expect(stderr).toContain('the data changed: start over')
      expect(stdout.trimEnd().split('\n')).toHaveLength(100)
    })

    test('gives up on a 400, and on a 503 that does not end', async () => {
      for (const statuses of [[400], [503, 503, 503, 503, 503, 503]]) {
        const proxy = proxyWith(statuses)
        const { stdout, code } = await run(example, proxy.url)
        proxy.close()
        expect([statuses.length, code === 0, stdout]).toEqual([statuses.length, false, ''])
        expect(proxy.left).toHaveLength(statuses.length > 1 ? 1 : 0)
      }
    })
  })
}

requires(program('curl')).test('docs/integrate/examples/first-page.sh prints the first page', async () => {
  const { stdout, code } = await run(['sh', join(examples, 'first-page.sh')], service.baseUrl)
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ data: [{ id: 1 }, { id: 2 }], meta: { count: COUNT, page: 2 } })
})

test('every program in docs/integrate/examples has a test', () => {
  const tested = [...programs.map(({ file }) => file), 'first-page.sh']
  // typed.ts is compiled by test/system/generated-clients.long.test.ts.
  expect(readdirSync(examples).sort()).toEqual([...tested, 'typed.ts'].sort())
})
