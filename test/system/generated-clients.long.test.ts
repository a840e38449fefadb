import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cleanUp, ended, launch } from '../support/executable.ts'
import { assessment, educator, organization, range, world } from '../support/fixtures.ts'
import { LIST, TOKEN } from '../support/http.ts'
import { requires } from '../support/requires.ts'
import { type Served, serveWith } from '../support/served.ts'
import { authorize, load, startService, type TestService } from '../support/service.ts'
import { perform } from './clients/run.ts'
import { documentedUrls, NGINX, startNginx } from './support/nginx.ts'
import { installed, runBun } from './support/npm.ts'
import { redirecting } from './support/redirecting.ts'

setDefaultTimeout(300_000)

/**
 * The commands that generate each client from the document at a URL, by its documentation, and the program that uses
 * it.
 */
const GENERATORS = [
  {
    name: 'openapi-typescript with openapi-fetch',
    command: (address: string) => ['openapi-typescript', address, '-o', 'made/openapi-typescript.ts'],
    program: 'openapi-fetch.ts',
  },
  {
    name: '@hey-api/openapi-ts',
    command: (address: string) => ['openapi-ts', '-i', address, '-o', 'made/hey-api'],
    program: 'hey-api.ts',
  },
]

requires(NGINX).describe('a client that is generated from /openapi.json', () => {
  let service: TestService
  let served: Served
  /** The folder of the programs, of their packages, and of the generated code. */
  let folder: string
  let nginx: Awaited<ReturnType<typeof startNginx>>
  let task: { baseUrl: string; clientId: string; clientSecret: string; style: string }

  beforeAll(async () => {
    service = await startService()
    await load(service.sql, [
      ...world(),
      ...[11, 12].map(id => organization(id)),
      educator(1, { seid: 'A 1' }),
      educator(2, { seid: 'B&2' }),
      educator(3, { seid: 'C3' }),
      ...range(250, index =>
        assessment(1 + index, { ...REQUESTED, user_id: 1 + (index % 2), organization_id: 10 + (index % 2) }),
      ),
      // Each of these records differs from the requested ones in one field.
      assessment(901, { ...REQUESTED, organization_id: 12 }),
      assessment(902, { ...REQUESTED, user_id: 3 }),
      assessment(903, { ...REQUESTED, legacy_record: true }),
      assessment(904, { ...REQUESTED, certified_at: '2026-01-01T12:00:00Z' }),
    ])
    served = await serveWith([], { DATABASE_URL: service.url, TRUSTED_PROXIES: '127.0.0.1' })
    nginx = await startNginx(served.url)
    const { clientId, clientSecret } = await authorize(service, [10, 11, 12], [1])
    const address = `${nginx.url}/openapi.json`
    const { baseUrl } = await documentedUrls(address)
    task = { baseUrl, clientId, clientSecret, style: 'JSON' }
    folder = await installed('generated')
    cpSync(join(import.meta.dir, 'clients', 'task.ts'), join(folder, 'task.ts'))
    for (const { command } of GENERATORS)
      await runBun(folder, 'x', '--bun', '--no-install', ...command(address))
    cpSync(join(folder, 'made', 'openapi-typescript.ts'), join(folder, 'axport.ts'))
    cpSync(
      join(import.meta.dir, '..', '..', 'docs', 'integrate', 'examples', 'typed.ts'),
      join(folder, 'typed.ts'),
    )
  })
  afterAll(async () => {
    await nginx?.stop()
    await served?.end()
    await service?.close()
    await cleanUp()
  })

  test('compiles with the programs that use its types, docs/integrate/examples/typed.ts among them', async () => {
    await runBun(folder, 'x', '--bun', '--no-install', 'tsc', '--project', '.')
  })

  test('takes no secret and no token to the host of a redirect if it is made as in typed.ts', async () => {
    const typed = readFileSync(join(folder, 'typed.ts'), 'utf8')
    const here = join(folder, 'typed-here.ts')
    for (const path of [TOKEN, LIST])
      for (const status of [302, 307]) {
        const { url, redirected, arrived, stop } = redirecting(path, status)
        writeFileSync(here, typed.replace('https://export.example.org', url))
        const { code } = await ended(launch([process.execPath, here], { cwd: folder }), {})
        await stop()
        expect([arrived, redirected, code]).toEqual([[], [path], 1])
      }
  })

  for (const { name, program } of GENERATORS) {
    const client = { command: () => [process.execPath, join(folder, program)] }

    test(`by ${name} reads all pages with filters of every type, and continues after its token has expired`, async () => {
      const paused = async () => {
        await service.sql`update access_tokens set expires_at = now()`
      }
      const { ids, refused } = await perform(client, task, { paused })
      expect(ids).toEqual(Array.from({ length: 250 }, (_, index) => 1 + index))
      expect(refused).toMatchObject({ status: 401, error: 'invalid_token' })
      expect(nginx.missed()).toEqual([])
    })

    test(`by ${name} reports an error answer as an error`, async () => {
      const wrong = await perform(client, { ...task, clientSecret: 'wrong' }, 'walk')
      expect(wrong.refused).toMatchObject({ status: 401, error: 'invalid_client' })
      const { refused } = await perform(client, task, 'grant')
      expect(refused).toMatchObject({ status: 400, error: 'unsupported_grant_type' })
      expect(nginx.missed()).toEqual([])
    })
  }
})

/** The fields of the records that the programs request. */
const REQUESTED = { user_id: 1, certified_at: '2026-01-02T12:00:00Z', legacy_record: false }
