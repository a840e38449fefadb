import { afterEach, expect, spyOn, test } from 'bun:test'
import { Client } from '../../src/pull/client.ts'
import { type Front, json, pageOf, record, startServer } from '../support/pull.ts'

let server: Front
afterEach(() => server.stop())

/** A client of a service whose tokens live for so many seconds. */
function clientFor(expires_in: number): Client {
  server = startServer((_, { pathname }) =>
    pathname === '/oauth/token'
      ? Response.json({ access_token: 'abc', expires_in })
      : json(pageOf([record(1)], 1, 0)),
  )
  const secrets = { clientId: 'id', clientSecret: 'secret' }
  const service = { baseUrl: server.baseUrl, ...secrets, timeoutMs: 20_000, retryForMs: 20_000 }
  return new Client(service, { onPause: () => {}, onWarning: () => {} })
}

test.each([
  ['an hour or two is replaced a minute before it ends', 7200, [7100, 7141, 14_200]],
  ['a minute and less is replaced when half of its time is over', 60, [20, 31, 55]],
])('a token that lives for %s', async (_, lifetime, [used, replaced, usedAgain]) => {
  const now = performance.now.bind(performance)
  let ahead = 0
  using _clock = spyOn(performance, 'now').mockImplementation(() => now() + ahead * 1000)
  const client = clientFor(lifetime)
  const tokens: number[] = []
  for (const seconds of [0, used, replaced, usedAgain]) {
    ahead = seconds as number
    await client.list('page=1')
    tokens.push(server.tokens)
  }
  expect([tokens, server.lists.length]).toEqual([[1, 1, 2, 2], 4])
})
