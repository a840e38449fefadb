import { describe, expect, test } from 'bun:test'
import { connectionFailure, passingReason, reasonOf } from '../../src/database/failures.ts'
import { backendReader, lastWordsIn } from '../../src/database/messages.ts'

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

describe('the last words of a server', () => {
  /** An ErrorResponse with these fields. */
  const response = (...fields: string[]) => {
    const body = Buffer.from(`${fields.join('\0')}\0\0`)
    const head = Buffer.from('E\0\0\0\0')
    head.writeInt32BE(4 + body.length, 1)
    return Buffer.concat([head, body])
  }

  test('are one error that ends the connection, in any language', () => {
    const words = { name: 'PostgresError', code: '57P01', message: 'Verbindung wird abgebrochen' }
    const fields = ['SFATAL', 'VFATAL', 'C57P01', 'MVerbindung wird abgebrochen', 'RProcessInterrupts']
    expect(lastWordsIn(response(...fields))).toMatchObject(words)
    expect(lastWordsIn(Buffer.concat([Buffer.from('T\0\0\0\x06\0\0'), response(...fields)]))).toMatchObject(
      words,
    )
    expect(lastWordsIn(response('SFATALE', 'VFATAL', ...fields.slice(2)))).toMatchObject(words)
    expect(lastWordsIn(response('SFATAL', 'C08P01', 'Mquery_wait_timeout'))).toMatchObject({
      code: '08P01',
      message: 'query_wait_timeout',
    })
  })

  test('are none in an error after which the connection goes on, in a part of a message, and in rows', () => {
    const whole = response('SFATAL', 'VFATAL', 'C57P01', 'Mx')
    const others = [
      response('SERROR', 'VERROR', 'C22012', 'Mdivision by zero'),
      whole.subarray(0, -1),
      Buffer.concat([whole, Buffer.from('Z\0\0\0\x05I')]),
      Buffer.concat([Buffer.from('D'), whole.subarray(1)]),
      Buffer.from('E'),
      Buffer.alloc(0),
    ]
    expect(others.map(lastWordsIn)).toEqual(others.map(() => undefined))
  })
})

test('the server process is read from the first messages of a connection, in whatever pieces they arrive', () => {
  const first = Buffer.from(
    'R\0\0\0\x08\0\0\0\0S\0\0\0\x0aa\0bcd\0K\0\0\0\x0c\0\0\x01\x02\0\0\0\x07Z\0\0\0\x05I',
  )
  for (let size = 1; size <= first.length; size++) {
    const read = backendReader()
    const found = []
    for (let at = 0; at < first.length; at += size) found.push(read(first.subarray(at, at + size)))
    expect(found.find(backend => backend !== undefined)).toEqual({ pid: 258, secret: 7 })
  }
})
