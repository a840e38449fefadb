/** What is asked for: the three endpoints. */
export type Kind = 'list' | 'retrieve' | 'token'

/** A whole answer, and when it was asked for and had (milliseconds of performance.now()). */
export interface Answer {
  kind: Kind
  path: string
  status: number
  headers: Headers
  text: string
  asked: number
  had: number
}

/** Words of the database, its driver and our own code, none of which is anything to a client. */
const INTERNALS =
  /postgres|pglite|sqlstate|econn|connection_|pg_|relation|syntax|statement|\bsql\b|127\.0\.0\.1|\/\$bunfs|\bat .*:\d+/i

/**
 * What is wrong with an answer other than 200, as a sentence; undefined when it is as documented: 503 with
 * Retry-After and 504 in the endpoint's own form (spec 7.1), and nothing else.
 */
export function faultOf({ kind, path, status, headers, text }: Answer): string | undefined {
  const about = `${status} for ${path}: ${text.slice(0, 200)}`
  if (status !== 503 && status !== 504) return about
  if (status === 503 && !/^[1-9]\d{0,3}$/.test(headers.get('retry-after') ?? ''))
    return `no Retry-After with ${about}`
  if (headers.get('content-type') !== 'application/json; charset=utf-8')
    return `content type ${headers.get('content-type')} with ${about}`
  if (INTERNALS.test(text)) return `internals in ${about}`
  if (!isDocumented(kind, text)) return `not the documented form: ${about}`
  return undefined
}

/** The API's errors have messages, the token endpoint's are OAuth's: exactly these keys. */
function isDocumented(kind: Kind, text: string): boolean {
  const body = parsed(text)
  if (kind === 'token') {
    return keysOf(body) === 'error,error_description' && Object.values(body as object).every(isText)
  }
  const { errors } = (body ?? {}) as { errors?: unknown }
  return (
    keysOf(body) === 'errors' &&
    Array.isArray(errors) &&
    errors.length === 1 &&
    keysOf(errors[0]) === 'message' &&
    isText(errors[0].message)
  )
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const keysOf = (value: unknown) =>
  typeof value === 'object' && value !== null ? Object.keys(value).sort().join() : undefined

const isText = (value: unknown) => typeof value === 'string' && /\S/.test(value)
