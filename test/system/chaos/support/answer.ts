import { expectDocumented } from '../../../support/documented.ts'

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
 * What is wrong with an answer other than 200, as a sentence; undefined when it is 503 or 504 as the OpenAPI document
 * describes it, and a 503 says when to come back.
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
