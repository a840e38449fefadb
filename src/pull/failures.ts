import { Failure } from '../errors.ts'

/** What went wrong with a request, in words for the person who runs the pull. */

/** Statuses of overload, of a restart, and of a proxy without its service. */
const TEMPORARY = [408, 429, 500, 502, 503, 504]
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i

/** An answer that was read to its end. */
export interface Answer {
  status: number
  headers: Headers
  body: Uint8Array
}

/** A request without a usable answer, which another attempt may get. */
export class Unanswered extends Error {
  /** @param retryAfterMs the service's Retry-After */
  constructor(
    message: string,
    readonly retryAfterMs?: number,
  ) {
    super(message)
  }
}

/**
 * The failure of a request that got no answer, by the error codes of Bun's fetch.
 * @param origin "https://host:port"
 * @param isFirst the service has never answered
 */
export function explain(error: unknown, origin: string, isFirst: boolean): Error {
  const { code = '', message } = error as { code?: string; message: string }
  if (code === 'ECONNREFUSED') return new Unanswered(`nothing listens at ${origin}`)
  if (/^(ENOTFOUND|EAI_|EDNS)/.test(code))
    return new Unanswered(`the host of ${origin} cannot be found (${code})`)
  if (code === 'ECONNRESET') {
    const hint = isFirst && origin.startsWith('http:') ? ', as a port for https:// does' : ''
    return new Unanswered(`${origin} closed the connection${hint}`)
  }
  if (code === 'ERR_PROXY_TUNNEL')
    return new Unanswered(`the proxy of the environment does not connect to ${origin}: see HTTPS_PROXY`)
  if (/CERT|SELF_SIGNED|UNABLE_TO|ALTNAME|CRL_/.test(code))
    return new Failure(`the certificate of ${origin} ${wrongCertificate(code)}`)
  if (['EPROTO', 'Malformed_HTTP_Response', 'ResponseHeadersTooLarge'].includes(code))
    return new Failure(`${origin} does not speak that protocol: check http:// or https://, and the port`)
  return new Unanswered(`the request to ${origin} failed (${code || message.replaceAll(/\s+/g, ' ')})`)
}

function wrongCertificate(code: string): string {
  // Never "give that name": it may be that of a login page, which would get the secret.
  if (code.includes('ALTNAME'))
    return 'is for another name: check --base-url; if it is right, another host answers in its place, as the login page of a network does'
  if (/EXPIRED|NOT_YET/.test(code))
    return `is not valid at this time (${code}): its operator has to renew it, or the clock here is wrong`
  return `is not trusted (${code}): name the file of its authority in NODE_EXTRA_CA_CERTS`
}

/** The body of a 200 with JSON, not of a login page. `url` has no query, which may hold names. @throws the failure */
export function bodyOf(answer: Answer, url: string): Uint8Array {
  if (answer.status !== 200) throw refusal(answer, url)
  if (isJson(answer)) return answer.body
  const [type = 'nothing'] = /^[\w.+/-]{1,100}/.exec(answer.headers.get('content-type') ?? '') ?? []
  throw new Failure(`${url} answered ${type}, not JSON: is that the base URL of an axport?`)
}

const isJson = ({ headers }: Answer) => JSON_TYPE.test(headers.get('content-type') ?? '')

function refusal(answer: Answer, url: string): Unanswered | Failure {
  const { status, headers } = answer
  if (isOfServerItself(answer)) return new Unanswered(`${url} answered 400 without a body`)
  if (TEMPORARY.includes(status))
    return new Unanswered(`${url} answered ${status}`, readRetryAfter(headers.get('retry-after')))
  if (status >= 300 && status < 400) return new Failure(redirected(url, headers.get('location') ?? ''))
  if (status === 407)
    return new Failure(
      'the proxy asks for a user and a password: write them into HTTP_PROXY as http://user:password@host:port',
    )
  if (status === 511) return new Failure('the network asks for a login before it lets requests through (511)')
  if (status === 414 || status === 431)
    return new Failure(`${url} answered ${status}, the request is too long: give the filters fewer values`)
  const message = messageOf(answer)
  if (!message) return new Failure(`${url} answered ${status}: is that the base URL of an axport?`)
  return /(tenant|product) ids/.test(message)
    ? new Failure(`the service refused: ${message}; its operator has to attach organizations and products`)
    : new Failure(`the service refused: ${message} (status ${status})`)
}

/**
 * Whether the HTTP server of axport refused bytes that it could not read as a request. Those of `pull` can be read, so
 * something on the way has changed them, or this answers the bytes of another client.
 */
const isOfServerItself = ({ status, headers, body }: Answer) =>
  status === 400 && body.length === 0 && !headers.has('x-request-id')

/**
 * What a redirect means. It is not followed, and no other host is recommended: the login page of a network redirects,
 * too, and would get the secret.
 */
function redirected(from: string, location: string): string {
  const [{ origin, protocol, hostname }, target] = [new URL(from), URL.parse(location, from)]
  // The origin alone: the rest of the location is text of an unknown host.
  const text = target ? `${from} redirects to ${target.origin}` : `${from} redirects`
  if (target?.origin === origin) return `${text}: check the path of --base-url`
  if (protocol === 'http:' && target?.protocol === 'https:' && target.hostname === hostname)
    return `${text}: give --base-url with https://`
  return `${text}, where the secret must not go: this network may want a login first; if the service has moved, ask its operator for the address`
}

/** The text of an error of the contract, if it is one: on one line, at most 300 characters. */
function messageOf(answer: Answer): string | undefined {
  const { error, error_description, errors } = isJson(answer) ? readJson(answer.body) : {}
  const first = Array.isArray(errors) ? (errors[0] as { message?: unknown } | null)?.message : undefined
  const text = first ?? error_description ?? error
  return typeof text === 'string' ? text.replaceAll(/[\s\p{Cc}]+/gu, ' ').slice(0, 300) : undefined
}

/** The members of the JSON in the body; none when the body is something else. */
export function readJson(body: Uint8Array): Record<string, unknown> {
  try {
    return JSON.parse(Buffer.from(body).toString()) ?? {}
  } catch {
    return {}
  }
}

/** In milliseconds (RFC 9110 §10.2.3). None for the past: clients that all return at once keep a service down. */
function readRetryAfter(header: string | null): number | undefined {
  const value = header?.trim() ?? ''
  const milliseconds = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return milliseconds > 0 ? milliseconds : undefined
}
