import { Failure } from '../errors.ts'
import { type Answer, Unanswered } from './request.ts'
import { readRetryAfter } from './retry.ts'

/** What passes by itself: overload, a restart, a proxy whose service is away. */
const PASSING = new Set([408, 429, 500, 502, 503, 504])

/** A proxy may bear fewer bytes of a request than the service does. */
const TOO_LONG = new Set([414, 431])

/**
 * What an answer that is not a success means, in words for whoever runs the pull.
 * @param url of the request, without its query: that may hold names
 */
export function refusal(answer: Answer, url: string): Unanswered | Failure {
  const { status, headers } = answer
  if (PASSING.has(status))
    return new Unanswered(`${url} answered ${status}`, readRetryAfter(headers.get('retry-after')))
  if (status >= 300 && status < 400) return redirected(url, headers.get('location'))
  if (TOO_LONG.has(status))
    return new Failure(`${url} answered ${status}, the request is too long: give the filters fewer values`)
  const message = messageOf(answer)
  if (message && /(tenant|product) ids/.test(message))
    return new Failure(
      `the service refused: ${message}; its operator has to attach organizations and products`,
    )
  if (message) return new Failure(`the service refused: ${message} (status ${status})`)
  return new Failure(`${url} answered ${status}: is that the base URL of an axport?`)
}

/** Nothing but where to: the rest of a location is the other side's text. */
function redirected(url: string, location: string | null): Failure {
  const target = location && URL.canParse(location, url) ? ` to ${new URL(location, url).origin}` : ''
  return new Failure(`${url} redirects${target}: give the address where it ends as --base-url`)
}

/** The text of an error of spec 7, if it is one; on one line, and not for ever. */
function messageOf(answer: Answer): string | undefined {
  const { error, error_description, errors } = (readJson(answer) ?? {}) as Record<string, unknown>
  const first = Array.isArray(errors) ? (errors[0] as { message?: unknown } | null)?.message : undefined
  const text = first ?? error_description ?? error
  if (typeof text !== 'string' || text === '') return undefined
  return text.replaceAll(/[\s\p{Cc}]+/gu, ' ').slice(0, 300)
}

/** The body as JSON; undefined when it does not call itself that, or is not. */
export function readJson({ headers, body }: Answer): unknown {
  if (!isJson(headers)) return undefined
  try {
    return JSON.parse(Buffer.from(body).toString())
  } catch {
    return undefined
  }
}

/** Whether an answer calls itself JSON; a proxy's page calls itself text/html. */
export function isJson(headers: Headers): boolean {
  return /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(headers.get('content-type') ?? '')
}
