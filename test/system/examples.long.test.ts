import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cleanUp, emptyFolder, ended, launch } from '../support/executable.ts'
import { assessment, educator, product, world } from '../support/fixtures.ts'
import { documents } from '../support/pull.ts'
import { program, requires } from '../support/requires.ts'
import { authorize, load, startService, type TestService } from '../support/service.ts'
import { TroubledProxy } from './support/troubled-proxy.ts'

setDefaultTimeout(300_000)

const examples = join(import.meta.dir, '..', '..', 'docs', 'integrate', 'examples')
const COUNT = 1650
/** Every second one is of an educator whose name has more than ASCII. */
const assessments = Array.from({ length: COUNT }, (_, at) => assessment(at + 1, { user_id: 501 + (at % 2) }))
const environment = process.env as Record<string, string>

let service: TestService
let credentials: { AXPORT_CLIENT_ID: string; AXPORT_CLIENT_SECRET: string }
beforeAll(async () => {
  service = await startService()
  await load(service.sql, [...world(), product(2), educator(502, { name: 'Zoë "Z" \u{1f600} Ruiz\u2028' })])
  await load(service.sql, assessments)
  const { clientId, clientSecret } = await authorize(service, [10], [1])
  credentials = { AXPORT_CLIENT_ID: clientId, AXPORT_CLIENT_SECRET: clientSecret }
})
afterAll(async () => {
  await service?.close()
  await cleanUp()
})

type Plans = Parameters<typeof TroubledProxy.start>[1]

/** Starts a proxy with these troubles in front of the service. */
const troubled = (plans: Plans) => TroubledProxy.start(service.baseUrl, plans)

/** Runs an unchanged example against a base URL. */
const run = (command: string[], url: string, settings: Record<string, string> = {}) =>
  ended(
    launch(command, {
      cwd: emptyFolder(),
      env: { ...environment, ...credentials, AXPORT_URL: url, ...settings },
    }),
    {},
  )

const programs = [
  { file: 'every-page.ts', prepare: (path: string) => [process.execPath, path] },
  { file: 'every_page.py', prepare: (path: string) => ['python3', path] },
  {
    file: 'every_page.go',
    prepare: (path: string) => {
      const built = join(emptyFolder(), 'every_page')
      const { exitCode, stderr } = Bun.spawnSync(['go', 'build', '-o', built, path], { env: environment })
      if (exitCode !== 0) throw new Error(stderr.toString())
      return [built]
    },
    debianPackage: 'golang-go',
  },
]

for (const { file, prepare, debianPackage } of programs) {
  const needed = { 'every_page.go': 'go', 'every_page.py': 'python3' }[file]
  const { describe } = requires(...(needed ? [program(needed, debianPackage)] : []))
  describe(`docs/integrate/examples/${file}`, () => {
    let command: string[]
    beforeAll(() => {
      command = prepare(join(examples, file))
    })

    /** Saves into a file that has something already. A time-out is half a second, and all give up after some seconds. */
    async function save(url: string, settings: Record<string, string> = {}) {
      const path = join(emptyFolder(), 'out.ndjson')
      writeFileSync(path, 'before\n')
      const bounds = { AXPORT_TIMEOUT: '1', AXPORT_RETRY_FOR: '20' }
      const { stdout, stderr, code } = await run([...command, path], url, { ...bounds, ...settings })
      expect(stdout).toBe('')
      expect(stderr).not.toContain(settings.AXPORT_CLIENT_SECRET ?? credentials.AXPORT_CLIENT_SECRET)
      expect(existsSync(`${path}.partial`)).toBe(false)
      return { path, code, stderr, text: readFileSync(path, 'utf8') }
    }

    /** Expects an error that left the file as it was. */
    function expectUnchanged({ code, text }: Awaited<ReturnType<typeof save>>): void {
      expect([code, text]).toEqual([1, 'before\n'])
    }

    const everything = async () => `${(await documents(service)).join('\n')}\n`

    test('writes every record, readable for its owner alone', async () => {
      const { code, stderr, text, path } = await save(service.baseUrl)
      expect([code, text]).toEqual([0, await everything()])
      expect(stderr).toContain(`${COUNT} records`)
      expect(statSync(path).mode & 0o777).toBe(0o600)
    })

    // Programs that wait do so at the same time.
    test.concurrent('writes every record in spite of any temporary trouble, at the token endpoint too', async () => {
      const soon = { 'retry-after': '0' }
      const troubles = [
        ...[408, 429, 500, 502, 503, 504].map(status => ({ status, headers: soon })),
        { status: 503, headers: { 'retry-after': new Date(Date.now() - 60_000).toUTCString() } },
        { status: 503, headers: { 'retry-after': 'soon' } },
        { status: 400, body: '' },
        ...(['reset', 'half, with its length', 'half, in chunks', 'half, to the end'] as const),
        ...(['silence', 'endless headers', 'endless body', 'a page of HTML'] as const),
      ]
      const expectWritten = async (some: typeof troubles) => {
        await using proxy = await troubled({
          // Each 401 makes the program ask for a token, which has a trouble of its own.
          lists: some.flatMap(trouble => [trouble, { status: 401 }, undefined]),
          tokens: some.flatMap(trouble => [trouble, undefined]),
        })
        expect(proxy.left).not.toEqual([])
        const { code, text, stderr } = await save(proxy.url)
        expect({ code, stderr: code === 0 || stderr }).toEqual({ code: 0, stderr: true })
        expect(text === (await everything())).toBe(true)
        expect(proxy.left).toEqual([])
        expect(new Set(proxy.lists.map(({ authorization }) => authorization)).size).toBe(some.length + 1)
      }
      await Promise.all([
        expectWritten(troubles.filter((_, at) => at % 2 === 0)),
        expectWritten(troubles.filter((_, at) => at % 2 === 1)),
      ])
    })

    test.concurrent('waits as Retry-After says, in seconds and as a date', async () => {
      // A date has whole seconds.
      const date = new Date(Math.ceil(Date.now() / 1000) * 1000 + 4000)
      await using proxy = await troubled({
        tokens: [{ status: 429, headers: { 'retry-after': '1' } }],
        lists: [{ status: 503, headers: { 'retry-after': date.toUTCString() } }],
      })
      const { url, lists, tokens } = proxy
      expect((await save(url)).code).toBe(0)
      expect((tokens[1]?.at ?? 0) - (tokens[0]?.at ?? 0)).toBeWithin(1000, 20_000)
      expect((lists[1]?.at ?? 0) - date.getTime()).toBeWithin(0, 20_000)
    })

    test.concurrent('gives up at once if Retry-After is beyond its patience, and after its patience otherwise', async () => {
      const much = { status: 503, headers: { 'retry-after': '3600' } }
      await using late = await troubled({ lists: [much] })
      expectUnchanged(await save(late.url))
      expect(late.lists).toHaveLength(1)
      for (const trouble of ['reset', 'silence', { status: 502 }] as const) {
        await using proxy = await troubled({ lists: Array(20).fill(trouble) })
        const { url, lists } = proxy
        const failed = await save(url, { AXPORT_RETRY_FOR: '2' })
        expectUnchanged(failed)
        expect(failed.stderr).toContain('given up')
        expect(lists.length).toBeWithin(2, 8)
      }
    })

    test('renews a refused token once', async () => {
      await using proxy = await troubled({
        lists: [undefined, { status: 401 }, { status: 401, body: 'why' }],
      })
      const { url, tokens, lists } = proxy
      const failed = await save(url)
      expectUnchanged(failed)
      expect(failed.stderr).toContain('401 why')
      expect([tokens.length, lists.length]).toEqual([2, 3])
    })

    test('shows what the service says to a wrong secret and to a wrong request, and does not repeat them', async () => {
      const wrong = await save(service.baseUrl, { AXPORT_CLIENT_SECRET: 'Xq7WrongSecret' })
      expectUnchanged(wrong)
      expect(wrong.stderr).toContain('invalid_client')
      await using proxy = await troubled({
        lists: [{ status: 400, body: '{"errors":[{"message":"no"}]}' }],
      })
      const { url, lists } = proxy
      const failed = await save(url)
      expectUnchanged(failed)
      expect(failed.stderr).toContain('400 {"errors":[{"message":"no"}]}')
      expect(lists).toHaveLength(1)
    })

    test('follows no redirect, which would take its secret or its token along', async () => {
      await using elsewhere = await TroubledProxy.start(service.baseUrl, {})
      for (const kind of ['tokens', 'lists'])
        for (const status of [302, 307]) {
          const location = `${elsewhere.url}${kind === 'tokens' ? '/oauth/token' : '/api/v1/ax/assessments'}`
          await using proxy = await troubled({ [kind]: [{ status, headers: { location } }] })
          expectUnchanged(await save(proxy.url))
        }
      expect([elsewhere.tokens, elsewhere.lists]).toEqual([[], []])
    })

    test('leaves the file as it is if there is no record', async () => {
      const { clientId, clientSecret } = await authorize(service, [10], [2])
      const failed = await save(service.baseUrl, {
        AXPORT_CLIENT_ID: clientId,
        AXPORT_CLIENT_SECRET: clientSecret,
      })
      expectUnchanged(failed)
      expect(failed.stderr).toContain('no records')
    })

    describe('if the data changes while it is read', () => {
      afterEach(async () => {
        await service.sql`delete from assessments where id > ${COUNT}`
        await load(service.sql, assessments)
      })

      test('starts over, even if the number of records stays the same', async () => {
        const { sql } = service
        const remove = (id: number) => sql`delete from assessments where id = ${id}`
        const add = (id: number) => load(sql, [assessment(id)])
        await using proxy = await troubled({
          lists: [
            ...[undefined, undefined, () => remove(1)],
            ...[undefined, undefined, () => remove(COUNT)],
            // Before the page that is read and after it.
            ...[undefined, undefined, () => Promise.all([remove(2), add(COUNT + 1)])],
          ],
        })
        const { url, lists } = proxy
        const { code, text } = await save(url, { AXPORT_TIMEOUT: '10' })
        expect(code).toBe(0)
        expect(text).toBe(await everything())
        expect(lists.filter(({ query }) => /\boffset=0\b/.test(query))).toHaveLength(4)
      })

      test('gives up after four reads', async () => {
        const { sql } = service
        let id = COUNT
        const changing = [undefined, () => load(sql, [assessment(++id)])]
        await using proxy = await troubled({ lists: Array(4).fill(changing).flat() })
        // Each change is an import, which may take a second.
        const failed = await save(proxy.url, { AXPORT_TIMEOUT: '10' })
        expectUnchanged(failed)
        expect(failed.stderr).toContain('the data changed during each of 4 reads')
      })
    })
  })
}

requires(program('curl')).describe('docs/integrate/examples/first-page.sh', () => {
  const firstPage = (url: string, settings = {}) =>
    run(['sh', join(examples, 'first-page.sh')], url, settings)

  test('prints the first page', async () => {
    const { stdout, code } = await firstPage(service.baseUrl)
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      data: [{ id: 1 }, { id: 2 }],
      meta: { count: COUNT, page: 2 },
    })
  })

  test('shows the error of a wrong secret, and ends with another code than 0', async () => {
    const { stdout, stderr, code } = await firstPage(service.baseUrl, { AXPORT_CLIENT_SECRET: 'wrong' })
    expect([stdout, code]).toEqual(['', 1])
    expect(stderr).toContain('invalid_client')
  })
})

/** The code block of a document that gets a token, for a service and a client. */
function tokenLines(
  document: string,
  url: string,
  { AXPORT_CLIENT_ID: id, AXPORT_CLIENT_SECRET: secret } = credentials,
) {
  const text = readFileSync(join(examples, '..', '..', '..', document), 'utf8')
  const [, block = ''] = /```\n(TOKEN=[\s\S]*?)```/.exec(text.replaceAll('```sh', '```')) ?? []
  return block
    .replaceAll('http://127.0.0.1:3000', url)
    .replaceAll('assessments/20521', 'assessments/1')
    .replace('client_id=…', `client_id=${id}`)
    .replace('client_secret=…', `client_secret=${secret}`)
}

for (const document of ['docs/integrate/guide.md'])
  requires(program('curl')).describe(`the lines of ${document}`, () => {
    test('get a token, and a page with it', async () => {
      const { stdout, stderr, code } = await run(
        ['sh', '-c', tokenLines(document, service.baseUrl)],
        service.baseUrl,
      )
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toContain(`"meta":{"count":${COUNT},"offset":0,"page":100}`)
    })

    test('show the error of a wrong secret, and end with another code than 0, as do those after them', async () => {
      const wrong = { ...credentials, AXPORT_CLIENT_SECRET: 'wrong' }
      const lines = tokenLines(document, service.baseUrl, wrong)
      const alone = lines.slice(0, lines.indexOf('\n\n'))
      const token = await run(['sh', '-c', alone], service.baseUrl, wrong)
      expect([token.stdout, token.code]).toEqual(['', 1])
      expect(token.stderr).toContain('"error":"invalid_client"')
      const both = await run(['sh', '-c', lines], service.baseUrl, wrong)
      expect(both.code).toBeGreaterThan(0)
      expect(both.stdout).toContain('invalid_token')
    })
  })

test('every program in docs/integrate/examples has a test', () => {
  const tested = [...programs.map(({ file }) => file), 'first-page.sh']
  // typed.ts is compiled by test/system/generated-clients.long.test.ts.
  expect(readdirSync(examples).sort()).toEqual([...tested, 'typed.ts'].sort())
})
