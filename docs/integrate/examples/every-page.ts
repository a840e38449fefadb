// Prints the id of every assessment: bun every-page.ts. Needs AXPORT_URL, AXPORT_CLIENT_ID and AXPORT_CLIENT_SECRET.
const { AXPORT_URL, AXPORT_CLIENT_ID = '', AXPORT_CLIENT_SECRET = '' } = process.env

async function newToken(): Promise<string> {
  const credentials = { client_id: AXPORT_CLIENT_ID, client_secret: AXPORT_CLIENT_SECRET }
  const body = new URLSearchParams({ grant_type: 'client_credentials', ...credentials })
  const answer = await fetch(`${AXPORT_URL}/oauth/token`, { method: 'POST', body })
  if (!answer.ok) throw new Error(`no token: ${answer.status} ${await answer.text()}`)
  return ((await answer.json()) as { access_token: string }).access_token
}

let token = await newToken()
let offset = 0
let count = 1
for (let attempt = 1; offset < count; ) {
  const headers = { authorization: `Bearer ${token}` }
  const url = `${AXPORT_URL}/api/v1/ax/assessments?page=100&offset=${offset}`
  const answer = await fetch(url, { headers }).catch(() => new Response('no answer', { status: 503 }))
  if (answer.ok) {
    const { data, meta } = (await answer.json()) as { data: { id: number }[]; meta: { count: number } }
    if (offset > 0 && meta.count !== count) throw new Error('the data changed: start over')
    for (const assessment of data) console.log(assessment.id)
    count = meta.count
    offset += 100
    attempt = 1
  } else if (attempt++ === 5 || ![401, 503, 504].includes(answer.status)) {
    throw new Error(`${answer.status} ${await answer.text()}`)
  } else if (answer.status === 401) {
    token = await newToken()
  } else {
    const seconds = Number(answer.headers.get('retry-after') ?? 2 ** attempt)
    await new Promise(resolve => setTimeout(resolve, seconds * 1000))
  }
}
