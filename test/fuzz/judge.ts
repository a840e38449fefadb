import type { Conversation, HostileRequest } from './hostile.ts'
import { LIST, TOKEN } from './hostile-targets.ts'
import type { Received, WireAnswer } from './wire.ts'

type Endpoint = 'list' | 'retrieve' | 'token' | 'public' | 'other'

/** Statuses that an endpoint may answer with (spec 7, README). */
const STATUSES: Record<Endpoint, number[]> = {
  list: [200, 400, 401, 405],
  retrieve: [200, 400, 401, 404, 405],
  token: [200, 400, 401, 405, 413],
  public: [200, 405],
  other: [200, 400, 401, 404, 405, 413],
}

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

function faultOf(request: HostileRequest, answer: WireAnswer): string | undefined {
  const { status, headers, body } = answer
  const text = body.toString('utf8')
  if (isRefusal(answer)) return request.isBroken ? undefined : 'a refusal by the server itself'
  const publicType = PUBLIC[pathOf(request.target)]
  if (status === 200 && publicType) return faultOfPublic(publicType, request, answer)
  const endpoint = request.isBroken ? 'other' : endpointOf(request.target)
  if (!STATUSES[endpoint].includes(status)) return `an undocumented status of ${endpoint}`
  if (headers.get('content-type') !== 'application/json; charset=utf-8') return 'another content type'
  if (headers.get('x-content-type-options') !== 'nosniff') return 'no nosniff'
  if (!/\bno-store\b/.test(headers.get('cache-control') ?? '')) return 'it may be stored'
  if (status === 405 && !headers.has('allow')) return 'no Allow'
  if (status === 401 && !headers.has('www-authenticate')) return 'no challenge'
  if (status === 200 && !request.isBroken && !isEntitled(request, endpoint, text))
    return 'nobody should get in'
  if (request.method === 'HEAD' && body.length === 0) return undefined
  if (headers.has('content-encoding'))
    return status === 200 && body.length > 0 ? undefined : 'an error in a coding'
  if (status !== 200 && INTERNALS.test(text)) return 'internals'
  return isDocumented(endpoint, status, text) ? undefined : 'an undocumented body'
}

function faultOfPublic(type: string, { method }: HostileRequest, { headers, body }: WireAnswer) {
  if (headers.get('content-type') !== `${type}; charset=utf-8`) return 'another content type'
  if (headers.get('x-content-type-options') !== 'nosniff') return 'no nosniff'
  if (headers.get('cache-control') !== 'no-cache') return 'an old one may be shown'
  if (type === 'text/html' && !headers.has('content-security-policy')) return 'no policy'
  return (body.length === 0) === (method === 'HEAD') ? undefined : 'a body for HEAD, or none for GET'
}

/** The server's own answers have no body and close the connection. */
const isRefusal = ({ status, headers, body }: WireAnswer) =>
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
  const isToken = endpoint === 'token' || (endpoint === 'other' && SUCCESS.token(parsed(text)))
  return (isToken ? client : token) !== 'none'
}

function isDocumented(endpoint: Endpoint, status: number, text: string): boolean {
  const body = parsed(text)
  if (status === 200) return endpoint === 'other' ? isSuccess(body) : SUCCESS[endpoint](body)
  const asOAuth = hasKeys(body, 'error', 'error_description') && Object.values(body).every(isText)
  if (endpoint === 'token' || status === 401) return asOAuth
  return (endpoint === 'other' && asOAuth) || isErrors(body)
}

const SUCCESS: Record<Exclude<Endpoint, 'other'>, (body: unknown) => boolean> = {
  list: body =>
    hasKeys(body, 'data', 'meta') &&
    Array.isArray(body.data) &&
    body.data.length <= 100 &&
    body.data.every(isRecord) &&
    hasKeys(body.meta, 'count', 'offset', 'page') &&
    Object.values(body.meta).every(Number.isSafeInteger),
  retrieve: isRecord,
  token: body =>
    hasKeys(body, 'access_token', 'token_type', 'expires_in', 'created_at') &&
    body.token_type === 'Bearer' &&
    body.expires_in === 7200,
  // Judged before.
  public: () => false,
}

const isSuccess = (body: unknown) => Object.values(SUCCESS).some(is => is(body))

const RECORD = [
  ...['id', 'seid', 'name', 'first_name', 'last_name', 'email', 'organization_id', 'organization_name'],
  ...['assessment_name', 'certified_on', 'results'],
]

function isRecord(body: unknown): boolean {
  return hasKeys(body, ...RECORD) && Array.isArray(body.results) && body.results.length > 0
}

function isErrors(body: unknown): boolean {
  if (!hasKeys(body, 'errors') || !Array.isArray(body.errors) || body.errors.length === 0) return false
  return body.errors.every(
    item =>
      (hasKeys(item, 'message') || hasKeys(item, 'message', 'parameter')) &&
      Object.values(item).every(isText),
  )
}

/** Exactly these keys. */
function hasKeys(value: unknown, ...keys: string[]): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return Object.keys(value).sort().join() === [...keys].sort().join()
}

const isText = (value: unknown) => typeof value === 'string' && /\S/.test(value)

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const describe = ({ status, headers, body }: WireAnswer) =>
  `${status} ${JSON.stringify(Object.fromEntries(headers))} ${JSON.stringify(body.toString('latin1').slice(0, 300))}`

const describeRequest = ({ bytes }: HostileRequest) => JSON.stringify(bytes.toString('latin1').slice(0, 600))
