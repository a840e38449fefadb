import { describe, expect, test } from 'bun:test'
import { connectionFailure, passingReason, reasonOf } from '../../src/postgres/failures.ts'

/** What PgBouncer sends, as postgres.js gives it. */
const ofPooler = (message: string) =>
  Object.assign(new Error(message), { name: 'PostgresError', code: '08P01', severity: 'FATAL' })

describe('what PgBouncer says', () => {
  test.each([
    [
      'server login has been failing, try again later (server_login_retry)',
      'its pooler reports that the server login has been failing',
    ],
    // From PgBouncer 1.24 on.
    [
      'server login has been failing, cached error: FATAL: password authentication failed for user "ana" (server_login_retry)',
      'its pooler reports that the server login has been failing',
    ],
    ['query_wait_timeout', 'its pooler had no connection to the server in time (query_wait_timeout)'],
    ['no more connections allowed (max_client_conn)', 'its pooler takes no more clients (max_client_conn)'],
  ])('is a reason in words of our own, which may pass: %s', (message, reason) => {
    const error = ofPooler(message)
    expect(reasonOf(error)).toBe(reason)
    expect(passingReason(connectionFailure(error))).toBe(reason)
    expect(String(connectionFailure(error))).toStartWith(`Error: cannot reach the database: ${reason}: `)
  })

  test.each(['SASL authentication failed', 'no such database: axport', 'unsupported startup parameter: jit'])(
    'is a code if its words are not known, and does not pass: %s',
    message => {
      expect(reasonOf(ofPooler(message))).toBe('it refuses connections (08P01)')
      expect(passingReason(connectionFailure(ofPooler(message)))).toBeUndefined()
    },
  )
})
