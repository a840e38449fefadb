import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { cleanUp, emptyFolder, ended, launch, start } from '../support/executable.ts'
import { get, LIST, newToken } from '../support/http.ts'
import { program, requires } from '../support/requires.ts'
import { SAMPLE_PROGRAMS, samples } from './support/samples.ts'

setDefaultTimeout(300_000)

interface Operation {
  responses: Record<string, { content: { 'application/json': { example: unknown } } }>
}

const environment = process.env as Record<string, string>
let url: string
let credentials: { clientId: string; clientSecret: string }
/** The ids of all records, in the order of the list. */
let ids: number[]

beforeAll(async () => {
  const demo = await start(['demo'], { env: { PORT: '0', TMPDIR: emptyFolder() } })
  const [, address = ''] = await demo.shows(/sample assessments at (http:\S+)\. Paste[\s\S]*Ctrl-C/)
  const [, clientId = '', clientSecret = ''] =
    /client_id=(\w+) -d client_secret=(\w+)/.exec(demo.stdout()) ?? []
  url = address
  credentials = { clientId, clientSecret }
  const token = await newToken(url, credentials)
  ids = []
  for (let count = 1; ids.length < count; ) {
    const { body } = await get(url, token, `${LIST}?page=100&offset=${ids.length}`)
    const page = body as { data: { id: number }[]; meta: { count: number } }
    ids.push(...page.data.map(({ id }) => id))
    count = page.meta.count
  }
})
afterAll(cleanUp)

/** Runs a program with the settings that the guide names; expects it to succeed. */
async function output(command: string[]): Promise<string> {
  const { clientId: AXPORT_CLIENT_ID, clientSecret: AXPORT_CLIENT_SECRET } = credentials
  const env = { ...environment, AXPORT_URL: url, AXPORT_CLIENT_ID, AXPORT_CLIENT_SECRET }
  const { stdout, stderr, code } = await ended(launch(command, { cwd: emptyFolder(), env }), {})
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
}

const linesOf = (printed: string) =>
  printed
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as { id: number; data?: { id: number }[] })

test('the examples in /openapi.json are the answers of the demo', async () => {
  const { paths, components } = (await (await fetch(`${url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, Operation>>
    components: { headers: { Link: { example: string } } }
  }
  const token = await newToken(url, credentials)
  const example = (path: string) => paths[path]?.get?.responses[200]?.content['application/json'].example
  const list = await get(url, token, `${LIST}?page=2&filter[start_date]=2026-04-01`)
  expect(list.body).toEqual(example(LIST))
  expect(list.headers.get('link')).toBe(components.headers.Link.example)
  expect((await get(url, token, `${LIST}/20521`)).body).toEqual(example(`${LIST}/{id}`))
})

requires(program('curl')).test(
  'the samples for a shell get a token, a page, a record and every page',
  async () => {
    const [first = '', walk = ''] = samples('sh')
    const [page, record] = linesOf(
      (await output(['sh', '-c', first.replaceAll('"\n', '"; echo\n')])).replace(/\n+/g, '\n'),
    )
    expect(page?.data?.map(({ id }) => id)).toEqual(ids.slice(0, 100))
    expect(record?.id).toBe(20521)
    const [token = ''] = first.split('\n\n')
    const pages = linesOf(await output(['sh', '-c', `${token}\n${walk}`]))
    expect(pages.flatMap(({ data = [] }) => data.map(({ id }) => id))).toEqual(ids)
  },
)

for (const { language, command, needs } of SAMPLE_PROGRAMS)
  requires(...needs).test(`the sample in ${language} prints every record`, async () => {
    expect(linesOf(await output(command())).map(({ id }) => id)).toEqual(ids)
  })
