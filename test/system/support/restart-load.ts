// Requests of an integration through a proxy until standard input ends: `bun restart-load.ts BASE_URL < credentials.json`.
// Then prints, as JSON, how often each result came: the status, or the error.
const [, , base = ''] = Bun.argv
const lines = console[Symbol.asyncIterator]()
const { client_id, client_secret } = JSON.parse((await lines.next()).value as string)
const results: Record<string, number> = {}
let isOver = false

const options = { headers: { host: 'export.example.org' }, tls: { rejectUnauthorized: false } } as RequestInit

async function request(kind: string, path: string, init: RequestInit): Promise<string> {
  let result: string
  let text = ''
  try {
    const answer = await fetch(base + path, {
      ...options,
      ...init,
      headers: { ...options.headers, ...init.headers },
    })
    text = await answer.text()
    result = String(answer.status)
  } catch (error) {
    result = (error as { code?: string; name: string }).code ?? (error as Error).name
  }
  results[`${kind} ${result}`] = (results[`${kind} ${result}`] ?? 0) + 1
  return text
}

const token = () => {
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret })
  return request('token', '/oauth/token', { method: 'POST', body })
}

/** Milliseconds between two requests of an integration. */
const PAUSE = 400

async function integrate(): Promise<void> {
  const { access_token } = JSON.parse(await token())
  for (let number = 0; !isOver; number++) {
    await Bun.sleep(PAUSE)
    if (number % 5 === 4) await token()
    const headers = { authorization: `Bearer ${access_token}` }
    await request('page', `/api/v1/ax/assessments?page=10&offset=${(number % 20) * 10}`, { headers })
  }
}

const integrations = Promise.all(Array.from({ length: 8 }, integrate))
await lines.next()
isOver = true
await integrations
console.log(JSON.stringify(results))
