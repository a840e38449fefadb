import { expectDocumented } from '../../support/documented.ts'
import { LIST, TOKEN } from '../../support/http.ts'
import type { RawAnswer } from '../../support/raw.ts'
import type { Conversation, HostileRequest } from './hostile.ts'
import type { Received } from './wire.ts'

type Endpoint = 'list' | 'retrieve' | 'token' | 'public' | 'other'

/** What there is for everybody to read, and its content type. */
const PUBLIC: Record<string, string> = {
  '/openapi.json': 'application/json',
  '/docs': 'text/html',
  '/docs/page.css': 'text/css',
  '/docs/page.js': 'text/javascript',
}

/** What the server itself may answer, without a body, to what is no HTTP, or too much of it. */
const REFUSALS = [400, 408, 413, 414, 417, 431, 501, 505]

/** Words of the database, its driver, the runtime or our own code, none of which is anything to a client. */
const INTERNALS =
  /postgres|pglite|sqlstate|drizzle|elysia|\bbun\b|econn|relation|syntax error|prepared statement|invalid input|out of range|\/\$bunfs|\.ts\b|\n\s+at |<html/i

/** What is wrong with what a server sent back, as sentences; none is what everybody wants. */
export function faultsOf(
  { requests, isPipelined, ending, sent }: Conversation,
  { answers, rest, isClosed }: Received,
): string[] {
  const faults: string[] = []
  for (const [index, answer] of answers.entries()) {
    // What follows a broken request may be taken for several.
    const request = requests[index] ?? requests.find(({ isBroken }) => isBroken)
    // To a whole packet of requests, of which one was broken.
    if (isPipelined && isRefusal(answer) && requests.some(({ isBroken }) => isBroken)) continue
    const fault = request ? faultOf(request, answer) : 'an answer to nothing'
    if (fault) faults.push(`${fault}: ${describe(answer)} to ${request && describeRequest(request)}`)
  }
  // What we cut short may be answered or not.
  if (ending !== 'wait' || sent < 1) return faults
  const isOver = answers.some(answer => answer.headers.get('connection') === 'close')
  const unanswered = requests[answers.length]
  // The server closes a connection on which a request comes before the answer to the last one.
  const mayClose = isOver || isPipelined || unanswered?.isBroken
  if (unanswered && !(isClosed && mayClose))
    faults.push(`${isClosed ? 'closed without' : 'no'} answer to ${describeRequest(unanswered)}`)
  if (rest.length > 0 && !isClosed)
    faults.push(`no HTTP: ${JSON.stringify(rest.toString('latin1').slice(0, 200))}`)
  return faults
}

function faultOf(request: HostileRequest, answer: RawAnswer): string | undefined {
  const { status, headers, body } = answer
  const text = body.toString('utf8')
  if (isRefusal(answer)) return request.isBroken ? undefined : 'a refusal by the server itself'
  const publicType = PUBLIC[pathOf(request.target)]
  if (status === 200 && publicType) return faultOfPublic(publicType, request, answer)
  const endpoint = request.isBroken ? 'other' : endpointOf(request.target)
  // An overload, a time-out or an error of the server is documented, and nothing that a request may bring about.
  if (![200, 400, 401, 404, 405, 413].includes(status)) return `a status that ${endpoint} has no reason for`
  if (headers.get('content-type') !== 'application/json; charset=utf-8') return 'another content type'
  if (headers.get('x-content-type-options') !== 'nosniff') return 'no nosniff'
  if (!/\bno-store\b/.test(headers.get('cache-control') ?? '')) return 'it may be stored'
  if (status === 200 && !request.isBroken && !isEntitled(request, endpoint, text))
    return 'nobody should get in'
  if (request.method === 'HEAD' && body.length === 0) return undefined
  if (headers.has('content-encoding'))
    return status === 200 && body.length > 0 ? undefined : 'an error in a coding'
  if (status !== 200 && INTERNALS.test(text)) return 'internals'
  return isDocumented(endpoint, answer) ? undefined : 'an undocumented answer'
}

function faultOfPublic(type: string, { method }: HostileRequest, { headers, body }: RawAnswer) {
  if (headers.get('content-type') !== `${type}; charset=utf-8`) return 'another content type'
  if (headers.get('x-content-type-options') !== 'nosniff') return 'no nosniff'
  if (headers.get('cache-control') !== 'no-cache') return 'an old one may be shown'
  if (type === 'text/html' && !headers.has('content-security-policy')) return 'no policy'
  return (body.length === 0) === (method === 'HEAD') ? undefined : 'a body for HEAD, or none for GET'
}

/** The server's own answers have no body and close the connection. */
const isRefusal = ({ status, headers, body }: RawAnswer) =>
  REFUSALS.includes(status) && body.length === 0 && !headers.has('content-type')

const pathOf = (target: string) => target.split('?', 1)[0] ?? ''

function endpointOf(target: string): Endpoint {
  const path = pathOf(target)
  if (path in PUBLIC) return 'public'
  if (path === LIST) return 'list'
  if (path === TOKEN) return 'token'
  // Dots and further slashes may lead elsewhere.
  return path.startsWith(`${LIST}/`) &&
    !/[./\\#]|%2[ef]|%5c/i.test(path.slice(LIST.length + 1)) &&
    path !== `${LIST}/`
    ? 'retrieve'
    : 'other'
}

/** Where dots in a path lead, only the answer tells. */
function isEntitled({ token, client }: HostileRequest, endpoint: Endpoint, text: string): boolean {
  const isToken = endpoint === 'token' || (endpoint === 'other' && text.startsWith('{"access_token":'))
  return (isToken ? client : token) !== 'none'
}

/** Requests whose answers an endpoint may give: where a path may lead anywhere, those of all. */
const LIKE: Record<Endpoint, [method: string, path: string][]> = {
  list: [['GET', LIST]],
  retrieve: [['GET', `${LIST}/1`]],
  token: [['POST', TOKEN]],
  // Another method than GET; the page itself is judged before.
  public: [['GET', LIST]],
  other: [
    ['GET', LIST],
    ['GET', `${LIST}/1`],
    ['POST', TOKEN],
  ],
}

function isDocumented(endpoint: Endpoint, { status, headers, body }: RawAnswer): boolean {
  return LIKE[endpoint].some(([method, path]) => {
    try {
      expectDocumented(method, path, { status, headers, text: body.toString('utf8') })
      return true
    } catch {
      return false
    }
  })
}

const describe = ({ status, headers, body }: RawAnswer) =>
  `${status} ${JSON.stringify(Object.fromEntries(headers))} ${JSON.stringify(body.toString('latin1').slice(0, 300))}`

const describeRequest = ({ bytes }: HostileRequest) => JSON.stringify(bytes.toString('latin1').slice(0, 600))
