import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { BlockList } from 'node:net'
import pino from 'pino'
import { MAX_QUERY_BYTES } from '../../src/app/query-string.ts'
import { MAX_VALUES } from '../../src/parameters.ts'
import { listen, openTestDatabase, type TestDatabase } from '../support/service.ts'

setDefaultTimeout(60_000)

const silent = pino({ enabled: false })

let database: TestDatabase
let service: ReturnType<typeof listen>
let url: string
beforeAll(async () => {
  database = await openTestDatabase()
  const trustedProxies = new BlockList()
  trustedProxies.addAddress('127.0.0.1')
  service = listen(database, silent, {}, trustedProxies)
  url = service.url
})
afterAll(async () => {
  await service?.stop()
  await database?.close()
})

const page = async (headers: Record<string, string> = {}, address = url) =>
  await (await fetch(`${address}/docs`, { headers })).text()

describe('the page /docs', () => {
  test('is one file, whose policy forbids scripts, forms and everything from elsewhere', async () => {
    const answer = await fetch(`${url}/docs`)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    const policy = answer.headers.get('content-security-policy') ?? ''
    expect(policy).toStartWith("default-src 'none'; style-src 'sha256-")
    expect(policy).not.toMatch(/script-src|unsafe|https?:|\*/)
    const html = await answer.text()
    expect(html).not.toMatch(/<script|<form|<button|<link rel="stylesheet"|style=|\son\w+=/)
    const [, style = ''] = /<style>([\s\S]*?)<\/style>/.exec(html) ?? []
    const digest = new Bun.CryptoHasher('sha256').update(style).digest('base64')
    expect(policy).toContain(`'sha256-${digest}'`)
    expect(style).not.toMatch(/url\(|@import/)
    expect((await fetch(`${url}/docs`, { method: 'POST' })).status).toBe(405)
    expect(await (await fetch(`${url}/docs`, { method: 'HEAD' })).text()).toBe('')
  })

  test('has every parameter, answer and field of the OpenAPI document, with defaults and examples', async () => {
    const html = await page()
    const document = (await (await fetch(`${url}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, { parameters?: { name: string }[]; responses: object }>>
      components: { schemas: Record<string, { properties: object }> }
    }
    const schemas = Object.values(document.components.schemas)
    const names = schemas.flatMap(({ properties }) => Object.keys(properties))
    for (const [path, operations] of Object.entries(document.paths))
      for (const { parameters = [], responses } of Object.values(operations)) {
        names.push(path, ...parameters.map(({ name }) => name))
        for (const status of Object.keys(responses)) expect(html).toContain(`<strong>${status}</strong>`)
      }
    expect(names.length).toBeGreaterThan(40)
    for (const name of names) expect(html).toContain(`<code>${name}</code>`)
    for (const shown of ['Default: <code>50</code>', 'Example: <code>2026-03-01</code>', '1234567890'])
      expect(html).toContain(shown)
  })

  test('links every heading and row to itself, and to nothing that is not there', async () => {
    const html = await page()
    const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
    expect(new Set(ids).size).toBe(ids.length)
    for (const [, target] of html.matchAll(/href="#([^"]+)"/g)) expect(ids).toContain(target)
    const places = [...html.matchAll(/<(?:h2|tr) id="([^"]+)"/g)].map(([, id]) => id)
    for (const id of places) expect(html).toContain(`<a class="anchor" href="#${id}"`)
    expect(places).toContain('listAssessments-filter-seids')
    // All other links are relative, or part of a sample.
    const links = [...html.matchAll(/href="([^#"][^"]*)"/g)].map(([, link]) => link)
    expect(links).toEqual(['data:,', 'openapi.json'])
  })

  test('says what surprises before the parameters: first that unknown names are ignored', async () => {
    const [, notes = ''] =
      /<h3>Parameters<\/h3>(<ul>[\s\S]*?)<table>[\s\S]*?filter\[search\]/.exec(await page()) ?? []
    expect(notes).toMatch(/^<ul>\s*<li><strong>An unknown name is ignored<\/strong>/)
    for (const said of [
      'blank value',
      'fall back',
      'all filters',
      `${MAX_VALUES.toLocaleString('en-US')} values`,
      `${MAX_QUERY_BYTES / 1024} KiB`,
    ])
      expect(notes).toContain(said)
  })

  test('sets no base address for samples in which it is written', async () => {
    expect(await page()).toContain('>export AXPORT_CLIENT_ID=')
    expect(await page({ 'x-forwarded-host': '?' })).toContain(
      '>export AXPORT_URL=https://export.example.org AXPORT_CLIENT_ID=',
    )
  })

  test('has no block of code that the keyboard does not reach', async () => {
    const blocks = (await page()).match(/<pre[^>]*>/g) ?? []
    expect(blocks.length).toBeGreaterThan(20)
    expect(new Set(blocks)).toEqual(new Set(['<pre tabindex="0">']))
  })

  test('is missing with DOCS=off, and /openapi.json is not', async () => {
    const without = listen(database, silent, { docs: 'off' })
    expect((await fetch(`${without.url}/docs`)).status).toBe(404)
    expect((await fetch(`${without.url}/openapi.json`)).status).toBe(200)
    await without.stop()
  })
})

describe('the base address on the page and in /openapi.json', () => {
  const serversOf = async (headers: Record<string, string>, address: string) => {
    const answer = await fetch(`${address}/openapi.json`, { headers })
    return ((await answer.json()) as { servers: { url: string }[] }).servers.map(server => server.url)
  }

  /** The base addresses that are shown: at the head of the page, before the path of the token in its samples, and as server. */
  async function shown(headers: Record<string, string>, address = url): Promise<string[]> {
    const html = (await page(headers, address)).replaceAll('&quot;', '"')
    const [, head = ''] = /Base address: <code>(.*?)<\/code>/.exec(html) ?? []
    const samples = [...html.matchAll(/"(\S*?)(?:" ?\+ ?['"])?\/oauth\/token/g)].map(([, base = '']) => base)
    expect(samples.length).toBe(5)
    return [...new Set([head, ...samples, ...(await serversOf(headers, address))])]
  }

  test('is that of the request', async () => {
    expect(await shown({ host: 'export.example.org' })).toEqual(['http://export.example.org'])
  })

  test('is what a trusted proxy says of it', async () => {
    const said = {
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'export.example.org',
      'x-forwarded-prefix': '/export/',
    }
    expect(await shown(said)).toEqual(['https://export.example.org/export'])
  })

  test('is not what anybody else says of it', async () => {
    const alone = listen(database, silent)
    const said = { 'x-forwarded-host': 'other.example', 'x-forwarded-prefix': '/other' }
    expect(await shown(said, alone.url)).toEqual([alone.url])
    await alone.stop()
  })

  test.each<Record<string, string>>([
    { 'x-forwarded-host': 'x"><b>' },
    { 'x-forwarded-host': 'x$(date)' },
    { 'x-forwarded-proto': 'javascript' },
    { 'x-forwarded-prefix': '/a b' },
    { 'x-forwarded-prefix': '/"+x+"' },
  ])('is left to the reader where it is none: %j', async headers => {
    const [, head] = /Base address: <code>(.*?)<\/code>/.exec(await page(headers)) ?? []
    expect(head).toBe('$AXPORT_URL')
    expect(await serversOf(headers, url)).toEqual(['.'])
  })
})
