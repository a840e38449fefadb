import { expect, test } from 'bun:test'
import { oauthError } from '../../src/oauth/client-credentials.ts'

test.each([
  [500, 'server_error'],
  [503, 'temporarily_unavailable'],
  [504, 'temporarily_unavailable'],
])('a %i of the token endpoint has the error code of RFC 6749', (status, error) => {
  const answer = oauthError(status, 'Try again later')
  expect([answer.httpStatus, answer.body]).toEqual([status, { error, error_description: 'Try again later' }])
})
