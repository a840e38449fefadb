import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { ROOT } from '../support/document.ts'
import { cleanUp, emptyFolder, ended, executable, launch } from '../support/executable.ts'
import { LIST, TOKEN } from '../support/http.ts'
import { program, type Requirement, requires } from '../support/requires.ts'
import { redirecting } from './support/redirecting.ts'
import { SAMPLE_PROGRAMS, samples } from './support/samples.ts'

setDefaultTimeout(300_000)
afterAll(cleanUp)

const environment = process.env as Record<string, string>
const CREDENTIALS = { AXPORT_CLIENT_ID: 'id', AXPORT_CLIENT_SECRET: 'Xq7Secret' }

/** The command for a base URL. */
type Command = (url: string) => string[] | Promise<string[]>

const example = (file: string) => join(ROOT, 'docs/integrate/examples', file)
const out = () => join(emptyFolder(), 'out.ndjson')
const curl = program('curl')
const [first = '', walk = ''] = samples('sh')
const [tokenLines = ''] = first.split('\n\n')

const clients: { name: string; needs: Requirement[]; command: Command }[] = [
  { name: 'the first sample for a shell', needs: [curl], command: () => ['sh', '-ec', first] },
  {
    name: 'the sample for a shell that reads every page',
    needs: [curl],
    command: () => ['sh', '-ec', `${tokenLines}\n${walk}`],
  },
  ...SAMPLE_PROGRAMS.map(({ language, ...sample }) => ({ ...sample, name: `the sample in ${language}` })),
  { name: 'first-page.sh', needs: [curl], command: () => ['sh', example('first-page.sh')] },
  {
    name: 'every-page.ts',
    needs: [],
    command: () => [process.execPath, example('every-page.ts'), out()],
  },
  {
    name: 'every_page.py',
    needs: [program('python3')],
    command: () => ['python3', example('every_page.py'), out()],
  },
  {
    name: 'every_page.go',
    needs: [program('go', 'golang-go')],
    command: () => ['go', 'run', example('every_page.go'), out()],
  },
  {
    name: 'pull',
    needs: [],
    command: async url => [
      await executable(),
      ...['pull', '--base-url', url, '--client-id', 'id', '--out', out()],
    ],
  },
]

for (const { name, needs, command } of clients)
  requires(...needs).test(`${name} ends at a redirect, and nothing arrives at the other host`, async () => {
    // With 302, a POST becomes a GET; with 307 it is sent again with its body.
    for (const path of [TOKEN, LIST])
      for (const status of [302, 307]) {
        const { url, redirected, arrived, stop } = redirecting(path, status)
        const env = { ...environment, ...CREDENTIALS, AXPORT_URL: url, AXPORT_RETRY_FOR: '1' }
        const { code, stderr } = await ended(launch(await command(url), { cwd: emptyFolder(), env }), {})
        await stop()
        expect({ path, status, arrived, met: redirected.length > 0 }).toEqual({
          ...{ path, status },
          arrived: [],
          met: true,
        })
        expect([path, status, code]).not.toEqual([path, status, 0])
        expect(stderr).not.toBe('')
        expect(stderr).not.toContain(CREDENTIALS.AXPORT_CLIENT_SECRET)
      }
  })

test('the sample in C#, which no test runs, makes one client, and that follows no redirect', () => {
  const [sample = ''] = samples('csharp')
  expect(sample.match(/new HttpClient\(.*/g)).toEqual([
    'new HttpClient(new HttpClientHandler { AllowAutoRedirect = false }) {',
  ])
})
