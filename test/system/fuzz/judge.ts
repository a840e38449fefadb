import { expectDocumented } from '../../support/expect-documented.ts'
import { LIST, TOKEN } from '../../support/http.ts'
import type { RawAnswer } from '../../support/raw.ts'
import type { Conversation, HostileRequest } from './hostile.ts'
import type { Received } from './wire.ts'

type Endpoint = 'list' | 'retrieve' | 'token' | 'public' | 'other'

/** The paths that need no token, with their content types. */
const PUBLIC: Record<string, string> = {
  '/openapi.json': 'application/json',
  '/docs': 'text/html',
}

/** Statuses that Bun itself may answer, without a body, to invalid or too long HTTP. */
const REFUSALS = [400, 408, 413, 414, 417, 431, 501, 505]

/** Words from the database, its driver, the runtime or the code, which must not appear in an answer. */
const INTERNALS =
  /postgres|sqlstate|drizzle|elysia|\bbun\b|econn|relation|syntax error|prepared statement|invalid input|out of range|\/\$bunfs|\.ts\b|\n\s+at |<html/i

/** The faults of a server's answers, as sentences. A test expects none. */
export function faultsOf(
  { requests, isPipelined, ending, sent }: Conversation,
  { answers, rest, isClosed, isLate }: Received,
): string[] {
  const faults: string[] = []
  for (const [index, answer] of answers.entries()) {
    // A server may read a broken request as several requests.
    const request = requests[index] ?? requests.find(({ isBroken }) => isBroken)
    // The refusal answers a packet of several requests, of which one was broken.
    if (isPipelined && isRefusal(answer) && requests.some(({ isBroken }) => isBroken)) continue
    const fault = request ? faultOf(request, answer) : 'an answer without a request'
    if (fault) faults.push(`${fault}: ${describe(answer)} to ${request && describeRequest(request)}`)
  }
  const unanswered = requests[answers.length]
  if (isLate) faults.push(`neither an answer nor an end: ${unanswered && describeRequest(unanswered)}`)
  // A request that was not sent completely may get an answer or none.
  if (isLate || ending !== 'wait' || sent < 1) return faults
  const isOver = answers.some(answer => answer.headers.get('connection') === 'close')
  // Bun closes a connection on which a request arrives before the answer to the previous one.
  const mayClose = isOver || isPipelined || unanswered?.isBroken
  if (unanswered && !mayClose) faults.push(`closed without an answer to ${describeRequest(unanswered)}`)
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
  // A 5xx, a time-out and an overload are documented, but a request must not be able to cause them.
  if (![200, 400, 401, 404, 405, 413, 415].includes(status))
    return `a status that a request to ${endpoint} must not cause`
  if (headers.get('content-type') !== 'application/json; charset=utf-8') return 'another content type'
  if (headers.get('x-content-type-options') !== 'nosniff') return 'no nosniff'
  if (!/\bno-store\b/.test(headers.get('cache-control') ?? '')) return 'an answer that caches may store'
  if (status === 200 && !request.isBroken && !isEntitled(request, endpoint, text))
    return 'a success without valid credentials'
  if (request.method === 'HEAD' && body.length === 0) return undefined
  if (headers.has('content-encoding'))
    return status === 200 && body.length > 0 ? undefined : 'an error answer with a content coding'
  if (status !== 200 && INTERNALS.test(text)) return 'words of internals in the answer'
  return isDocumented(endpoint, answer) ? undefined : 'an undocumented answer'
}

function faultOfPublic(type: string, { method }: HostileRequest, { headers, body }: RawAnswer) {
  if (headers.get('content-type') !== `${type}; charset=utf-8`) return 'another content type'
  if (headers.get('x-content-type-options') !== 'nosniff') return 'no nosniff'
  if (headers.get('cache-control') !== 'no-cache')
    return 'an answer that caches may show without revalidation'
  if (type === 'text/html' && !headers.has('content-security-policy')) return 'no policy'
  return (body.length === 0) === (method === 'HEAD') ? undefined : 'a body for HEAD, or none for GET'
}

/** Whether Bun itself has answered: without a body, and with the end of the connection. */
const isRefusal = ({ status, headers, body }: RawAnswer) =>
  REFUSALS.includes(status) && body.length === 0 && !headers.has('content-type')

const pathOf = (target: string) => target.split('?', 1)[0] ?? ''

function endpointOf(target: string): Endpoint {
  const path = pathOf(target)
  if (path in PUBLIC) return 'public'
  if (path === LIST) return 'list'
  if (path === TOKEN) return 'token'
  // Dots and further slashes may lead to another endpoint.
  return path.startsWith(`${LIST}/`) &&
    !/[./\\#]|%2[ef]|%5c/i.test(path.slice(LIST.length + 1)) &&
    path !== `${LIST}/`
    ? 'retrieve'
    : 'other'
}

/** Whether the request may get a success. For a path with dots, only the answer shows which endpoint was reached. */
function isEntitled({ token, client }: HostileRequest, endpoint: Endpoint, text: string): boolean {
  const isToken = endpoint === 'token' || (endpoint === 'other' && text.startsWith('{"access_token":'))
  return (isToken ? client : token) !== 'none'
}

/** For each kind of endpoint, the documented requests whose answers it may give. `other` may give those of all. */
const LIKE: Record<Endpoint, [method: string, path: string][]> = {
  list: [['GET', LIST]],
  retrieve: [['GET', `${LIST}/1`]],
  token: [['POST', TOKEN]],
  // Only methods other than GET come here; GET is checked before.
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
