import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cleanUp, emptyFolder, ended, launch, start } from '../support/executable.ts'
import { get, LIST, newToken } from '../support/http.ts'
import { program, requires } from '../support/requires.ts'

setDefaultTimeout(300_000)

interface Operation {
  'x-codeSamples': { label: string; source: string }[]
  responses: Record<string, { content: { 'application/json': { example: unknown } } }>
}

const environment = process.env as Record<string, string>
let url: string
let credentials: { clientId: string; clientSecret: string }
/** The three requests in their order: a token, the list, a record. */
let operations: Operation[]
let nextLink: string

beforeAll(async () => {
  const demo = await start(['demo'], { env: { PORT: '0', TMPDIR: emptyFolder() } })
  const [, address = ''] = await demo.shows(/sample assessments at (http:\S+)\. Paste[\s\S]*Ctrl-C/)
  const [, clientId = '', clientSecret = ''] =
    /client_id=(\w+) -d client_secret=(\w+)/.exec(demo.stdout()) ?? []
  url = address
  credentials = { clientId, clientSecret }
  const { paths, components } = (await (await fetch(`${url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, Operation>>
    components: { headers: { Link: { example: string } } }
  }
  nextLink = components.headers.Link.example
  operations = Object.values(paths).flatMap(methods => Object.values(methods))
})
afterAll(cleanUp)

/** The samples in one language. */
const samples = (label: string) =>
  operations.map(operation => operation['x-codeSamples'].find(sample => sample.label === label)?.source ?? '')

/** Runs a program with the settings that the samples name; expects it to succeed. */
async function output(command: string[], cwd = emptyFolder()): Promise<string> {
  const { clientId: AXPORT_CLIENT_ID, clientSecret: AXPORT_CLIENT_SECRET } = credentials
  const env = { ...environment, AXPORT_URL: url, AXPORT_CLIENT_ID, AXPORT_CLIENT_SECRET }
  const { stdout, stderr, code } = await ended(launch(command, { cwd, env }), {})
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
}

/** Writes a program into a new folder; returns the folder. */
function folderWith(file: string, text: string): string {
  const folder = emptyFolder()
  writeFileSync(join(folder, file), text)
  return folder
}

/** What the programs print: the records of the list, their number, and the parts of the record. */
const PRINTED = `20540 2026-04-04
20521 2026-04-05
of 74
20522 2026-03-28
20523 2026-04-05
`

test('the examples in /openapi.json are the answers of the demo', async () => {
  const token = await newToken(url, credentials)
  const [, ...reads] = operations
  const addresses = samples('curl').flatMap(source => /\$AXPORT_URL(\/api[^"]+)/.exec(source)?.[1] ?? [])
  expect(addresses).toEqual([`${LIST}?page=2&offset=0&filter[start_date]=2026-04-01`, `${LIST}/20521`])
  for (const [at, address] of addresses.entries()) {
    const { body, headers } = await get(url, token, address)
    expect(body).toEqual(reads[at]?.responses[200]?.content['application/json'].example)
    if (at === 0) expect(headers.get('link')).toBe(nextLink)
  }
})

requires(program('curl')).test('the samples for a shell run one after the other', async () => {
  const [token, list, record] = samples('curl')
  const printed = await output(['sh', '-c', `${token}\n${list}\necho\n${record}`])
  const [page, one] = printed.split('\n').map(line => JSON.parse(line) as object)
  expect(page).toMatchObject({ data: [{ id: 20540 }, { id: 20521 }], meta: { count: 74 } })
  expect(one).toMatchObject({ id: 20521 })
})

test('the samples in TypeScript run one after the other', async () => {
  const [token = '', ...reads] = samples('TypeScript')
  const text = [token, ...reads.map(source => `{\n${source}\n}`)].join('\n')
  const folder = folderWith('samples.ts', text)
  expect(await output([process.execPath, 'samples.ts'], folder)).toBe(PRINTED)
})

requires(program('python3')).test('the samples in Python run one after the other', async () => {
  const folder = folderWith('samples.py', samples('Python').join('\n'))
  expect(await output(['python3', 'samples.py'], folder)).toBe(PRINTED)
})

requires(program('go', 'golang-go')).test('the samples in Go run one after the other', async () => {
  const [token, ...reads] = samples('Go')
  const imports = ['encoding/json', 'fmt', 'log', 'net/http', 'net/url', 'os'].map(name => `"${name}"`)
  const blocks = reads.map(source => `func() {\n${source}\n}()`)
  const folder = folderWith(
    'samples.go',
    `package main\nimport (\n${imports.join('\n')}\n)\nfunc main() {\n${[token, ...blocks].join('\n')}\n}\n`,
  )
  expect(await output(['go', 'run', 'samples.go'], folder)).toBe(PRINTED)
})
