// What the forms to try requests do. Credentials and token live in this module and in the fields, nowhere else.
const base = new URL('.', location.href)
const list = new URL('api/v1/ax/assessments', base)
const $ = id => document.getElementById(id)
let token = ''

// A page that is left may be kept by the browser, and come back.
addEventListener('pagehide', () => {
  token = ''
  for (const form of document.forms) form.reset()
  $('result').hidden = true
  for (const part of ['status', 'request', 'headers', 'body']) $(`result-${part}`).textContent = ''
  $('next').onclick = null
  $('token-state').textContent = ''
})

onSubmit('token-form', async fields => {
  const body = new URLSearchParams({ grant_type: 'client_credentials' })
  for (const name of ['client_id', 'client_secret']) body.set(name, fields.get(name).trim())
  token = ''
  const { answer, text } = await send('POST', new URL('oauth/token', base), { body })
  const { access_token, expires_in, error_description } = parsed(text)
  token = answer.ok ? access_token : ''
  const until = new Date(Date.now() + expires_in * 1000).toLocaleTimeString()
  $('token-state').textContent = token
    ? `A token, good until ${until}`
    : (error_description ?? `HTTP ${answer.status}`)
  $('token-state').className = token ? '' : 'problem'
})

onSubmit('list-form', async fields => {
  const url = new URL(list)
  for (const [name, value] of fields)
    for (const line of name.endsWith('[]') ? value.split('\n') : [value])
      if (line.trim() !== '') url.searchParams.append(name, line.trim())
  await show(url)
})

onSubmit('retrieve-form', async fields => {
  await show(new URL(`${list}/${encodeURIComponent(fields.get('id').trim())}`))
})

/** Calls back with the fields; the browser itself sends nothing. One request at a time. */
function onSubmit(id, act) {
  $(id).addEventListener('submit', async event => {
    event.preventDefault()
    const buttons = document.querySelectorAll('button')
    for (const button of buttons) button.disabled = true
    try {
      await act(new FormData($(id)))
    } catch (error) {
      $('result').hidden = false
      $('result-status').textContent = `No answer: ${error.message}`
      for (const part of ['request', 'headers', 'body']) $(`result-${part}`).textContent = ''
    } finally {
      for (const button of buttons) button.disabled = false
    }
  })
}

async function send(method, url, { body, headers } = {}) {
  const answer = await fetch(url, { method, body, headers, cache: 'no-store', credentials: 'omit' })
  return { answer, text: await answer.text() }
}

/** Sends a request with the token, and shows it and its answer. */
async function show(url) {
  if (!token) {
    $('token-state').textContent = 'Get a token first.'
    $('token-state').className = 'problem'
    document.querySelector('[name=client_id]').focus()
    return
  }
  const start = performance.now()
  const { answer, text } = await send('GET', url, { headers: { authorization: `Bearer ${token}` } })
  const time = Math.round(performance.now() - start)
  $('result').hidden = false
  $('result-status').textContent = `${answer.status} ${answer.statusText}, ${time} ms`
  $('result-request').textContent =
    `curl -sg -H "Authorization: Bearer $TOKEN" \\\n'${url.href.replaceAll("'", '%27')}'`
  const names = ['link', 'retry-after', 'www-authenticate', 'content-type', 'x-request-id']
  $('result-headers').textContent = names
    .flatMap(name => (answer.headers.has(name) ? [`${name}: ${answer.headers.get(name)}`] : []))
    .join('\n')
  $('result-body').textContent = pretty(text)
  const next = /^<([^>]*)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1]
  $('next').hidden = !next
  $('next').onclick = () =>
    show(new URL(next, url)).catch(error => ($('result-status').textContent = error.message))
  $('result-status').focus()
}

/** JSON with line breaks, as text: to parse it would round ids beyond 2^53. */
function pretty(json) {
  let depth = 0
  const line = () => `\n${'  '.repeat(depth)}`
  return json.replaceAll(/"(?:\\.|[^"\\])*"|\[\]|\{\}|[{}[\],:]/g, mark => {
    if (mark === '{' || mark === '[') depth++
    if (mark === '}' || mark === ']') depth--
    if (mark === '{' || mark === '[') return mark + line()
    if (mark === '}' || mark === ']') return line() + mark
    if (mark === ',') return mark + line()
    return mark === ':' ? ': ' : mark
  })
}

function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}
