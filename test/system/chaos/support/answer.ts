import { expectDocumented } from '../../../support/expect-documented.ts'

/** The three endpoints. */
export type Kind = 'list' | 'retrieve' | 'token'

/** A whole answer, with the times of request and answer (milliseconds of performance.now()). */
export interface Answer {
  kind: Kind
  path: string
  status: number
  headers: Headers
  text: string
  sentAt: number
  receivedAt: number
}

/** Words from the database, its driver and the code, which must not appear in an answer. */
const INTERNALS =
  /postgres|sqlstate|econn|connection_|pg_|relation|syntax|statement|\bsql\b|127\.0\.0\.1|\/\$bunfs|\bat .*:\d+/i

/**
 * The fault of an answer other than 200, as a sentence. undefined if the answer is a 503 or 504 as the OpenAPI document
 * describes it, and a 503 has Retry-After.
 */
export function faultOf({ kind, path, status, headers, text }: Answer): string | undefined {
  const about = `${status} for ${path}: ${text.slice(0, 200)}`
  if (status !== 503 && status !== 504) return about
  if (status === 503 && !/^[1-9]\d{0,3}$/.test(headers.get('retry-after') ?? ''))
    return `no Retry-After with ${about}`
  if (INTERNALS.test(text)) return `internals in ${about}`
  try {
    expectDocumented(kind === 'token' ? 'POST' : 'GET', path, { status, headers, text })
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}
