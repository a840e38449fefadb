import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { treaty } from '@elysiajs/eden'
import type { App } from '../../src/http/app.ts'
import { assessment, EDUCATOR, educator, product, world } from '../support/fixtures.ts'
import { authorize, load, startService, type TestService } from '../support/service.ts'

setDefaultTimeout(60_000)

const root = join(import.meta.dir, '..', '..')

describe('Eden against the service', () => {
  let service: TestService
  let credentials: { client_id: string; client_secret: string }
  beforeAll(async () => {
    service = await startService('postgres')
    await load(service.sql, world())
    await load(service.sql, [
      product(2),
      educator(EDUCATOR, { seid: 'S,1' }),
      ...[1, 2, 3, 4].map(id => assessment(id, { product_id: 1 + (id % 2), certified_at: `2026-03-0${id}` })),
    ])
    const { clientId, clientSecret } = await authorize(service, [10], [1, 2])
    credentials = { client_id: clientId, client_secret: clientSecret }
  })
  afterAll(() => service?.close())

  /** A client with a token. In an object: to await the client itself would be to call it. */
  async function connected() {
    const api = treaty<App>(service.baseUrl)
    const { data } = await api.oauth.token.post({ grant_type: 'client_credentials', ...credentials })
    const headers = { authorization: `Bearer ${data?.access_token}` }
    return { assessments: treaty<App>(service.baseUrl, { headers, parseDate: false }).api.v1.ax.assessments }
  }

  test('gets a token, pages, filters as they are meant, and a record', async () => {
    const { assessments } = await connected()
    const { data, error } = await assessments.get({ query: { page: 3, sort: 'certified_on', order: 'DESC' } })
    expect(error).toBeNull()
    expect(data?.meta).toEqual({ count: 4, offset: 0, page: 3 })
    // Texts, as the type says: Eden would make Dates of them unless told not to.
    expect(data?.data.map(({ id, certified_on }) => [id, certified_on])).toEqual([
      [4, '2026-03-04'],
      [3, '2026-03-03'],
      [2, '2026-03-02'],
    ])
    const query = {
      'filter[product_ids][]': [2, '9223372036854775807'],
      'filter[seids][]': ['S,1', 'x'],
      'filter[start_date]': '2026-03-02',
      'filter[legacy_record][]': [false],
    }
    expect((await assessments.get({ query })).data?.data.map(({ id }) => id)).toEqual([3])
    expect((await assessments({ id: 2 }).get()).data).toMatchObject({ id: 2, seid: 'S,1' })
  })

  test('sees errors with their bodies', async () => {
    const { assessments } = await connected()
    const { error } = await assessments.get({ query: { page: 0 } })
    expect(error?.status).toBe(400)
    if (error?.status === 400) expect(error.value.errors[0]?.parameter).toBe('page')
    const { error: missing } = await assessments({ id: 5 }).get()
    if (missing?.status !== 404) throw new Error('expected a 404')
    expect(missing.value.errors[0]?.message).toBe('Assessment not found')
    const wrong = { grant_type: 'client_credentials' as const, client_id: 'x', client_secret: 'y' }
    const { error: refused } = await treaty<App>(service.baseUrl).oauth.token.post(wrong)
    if (refused?.status !== 401) throw new Error('expected a 401')
    expect(refused.value.error).toBe('invalid_client')
  })
})

describe('the declared type of the service', () => {
  const start = `import { treaty } from '@elysiajs/eden'
import type { App } from './axport'
const { assessments } = treaty<App>('https://x').api.v1.ax
`
  const valid = `${start}
const { data } = await assessments.get({ query: { page: 5, order: 'DESC', 'filter[user_record_status][]': ['active'] } })
export const name: string | undefined = data?.data[0]?.results[0]?.proctor_name
export const one: string | null | undefined = (await assessments({ id: 1 }).get()).data?.seid`
  const wrong = [
    `await assessments.get({ query: { pages: 5 } })`,
    `await assessments.get({ query: { sort: 'name' } })`,
    `await assessments.get({ query: { 'filter[user_record_status][]': ['gone'] } })`,
    `await assessments.get({ query: { 'filter[seids]': ['x'] } })`,
    `await assessments.post({})`,
    `export const name: number | undefined = (await assessments.get()).data?.data[0]?.name`,
    `;(await assessments.get()).data?.data[0]?.surname`,
  ]
  const example = readFileSync(join(root, 'docs', 'integrate', 'examples', 'typed.ts'), 'utf8')

  /** What the compiler says of these programs, in a project that has Elysia, Eden, and of ours the declared type. */
  let complaints: string[]
  beforeAll(() => {
    const folder = mkdtempSync(join(tmpdir(), 'axport-eden-'))
    try {
      const run = (...args: string[]) => Bun.spawnSync([process.execPath, ...args], { cwd: folder })
      const declared = run(join(root, 'scripts', 'types.ts'), '--outfile', join(folder, 'axport.d.ts'))
      if (!declared.success) throw new Error(declared.stderr.toString())
      symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
      const programs = { 'valid.ts': valid, 'wrong.ts': start + wrong.join('\n'), 'typed.ts': example }
      for (const [file, text] of Object.entries(programs)) writeFileSync(join(folder, file), text)
      const options = ['--strict', '--noEmit', '--skipLibCheck', '--target', 'esnext', '--module', 'preserve']
      const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
      const compiled = run(compiler, ...options, '--types', 'bun-types', ...Object.keys(programs))
      complaints = compiled.stdout.toString().split('\n')
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
  const about = (place: string) => complaints.filter(line => line.startsWith(place))

  test('knows parameters and fields', () => {
    expect(about('valid.ts')).toEqual([])
  })

  test('refuses others', () => {
    for (const [at, line] of wrong.entries())
      expect([line, about(`wrong.ts(${at + start.split('\n').length},`).length]).toEqual([line, 1])
  })

  test('compiles docs/integrate/examples/typed.ts', () => {
    expect(example.trimEnd().split('\n').length).toBeWithin(2, 13)
    expect(about('typed.ts')).toEqual([])
  })
})
