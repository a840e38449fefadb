import { afterAll, beforeAll, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import pino from 'pino'
import { rotateSecret } from '../../../src/integrations/credentials.ts'
import { setDisabled } from '../../../src/integrations/lifecycle.ts'
import { changeScope } from '../../../src/integrations/scope.ts'
import type { ServingDatabase } from '../../../src/postgres/pool/serving-database.ts'
import type { Runner } from '../../../src/postgres/statement.ts'
import { useTestDatabase } from '../../support/hooks.ts'
import { newToken } from '../../support/http.ts'
import { listen } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { ask, provision } from './servers.ts'
import { reset } from './world.ts'

/** How many statements a request costs: in the steady state one, whatever it asks for. */

const database = useTestDatabase()
let server: ReturnType<typeof listen>
let sent: string[] = []
/** Statements that no request waits for. */
let beside: string[] = []
let credentials: { clientId: string; clientSecret: string }
let token: string

beforeAll(() => reset(database.sql, 300))
afterAll(() => server?.stop())

/** The pool, with the text of every statement noted. */
function counting(pool: ServingDatabase): ServingDatabase {
  const forRequest = pool.forRequest.bind(pool)
  pool.forRequest = (requester): Runner => ({
    unsafe: (text, parameters, options) => {
      sent.push(text)
      return forRequest(requester).unsafe(text, parameters, options)
    },
  })
  const unsafe = pool.unsafe.bind(pool)
  pool.unsafe = (text, parameters, options) => {
    beside.push(text)
    return unsafe(text, parameters, options)
  }
  return pool
}

/** A server that knows nothing yet, and a token that it has never seen. */
beforeEach(async () => {
  await server?.stop()
  server = listen({ pool: (...asked) => counting(database.pool(...asked)) }, pino({ level: 'silent' }))
  credentials = await provision(database.sql, { organizations: [1, 2, 3], products: [1, 2] })
  token = await newToken(server.url, credentials)
})

/** The status of a request, and how many statements were run for it. */
async function cost(rest: string, of = token): Promise<[status: number, statements: number]> {
  sent = []
  const { status } = await ask(server.url, of, rest)
  return [status, sent.length]
}

describe('for a token that the page memory has', () => {
  beforeEach(async () => {
    expect(await cost('?page=50')).toEqual([200, 2])
  })

  const walk = [0, 50, 100, 150, 200].map(offset => `?page=50&offset=${offset}`)
  // Record 50 is of an organization and record 70 of a product outside the scope.
  test.each<[number, string[]]>([
    [200, [...walk, ...walk.map(page => `${page}&sort=user_name&order=DESC`)]],
    [200, ['?filter[search]=ana', '?filter[user_ids][]=1&offset=20', '?sort=proctor_name&offset=101', '/10']],
    [404, ['/999999999', '/50', '/70', '/none', '/99999999999999999999']],
    [400, ['?page=none']],
  ])('one statement is sent for each %d: %j', async (status, requests) => {
    for (const rest of requests) expect([rest, ...(await cost(rest))]).toEqual([rest, status, 1])
  })

  test('a changed scope costs one more statement, once', async () => {
    await changeScope(database.sql, credentials.clientId, { replace: ['4'] }, {})
    expect(await cost('?page=50')).toEqual([200, 2])
    expect(await cost('?page=50')).toEqual([200, 1])
  })

  test('a write costs no more statements, inside the scope or outside', async () => {
    await database.sql`update users set name = name || ' II' where id = 1`
    expect(await cost('?page=50')).toEqual([200, 1])
    await database.sql`update assessments set legacy_record = not legacy_record where organization_id = 5`
    expect(await cost('?page=50')).toEqual([200, 1])
  })

  test('a token that has ended, or whose integration is disabled, is refused by one statement, every time', async () => {
    await setDisabled(database.sql, credentials.clientId, true)
    expect(await cost('/10')).toEqual([401, 1])
    await setDisabled(database.sql, credentials.clientId, false)
    expect(await cost('/10')).toEqual([200, 1])
    await rotateSecret(database.sql, credentials.clientId, { force: true })
    for (let time = 0; time < 3; time++) expect(await cost('?page=50')).toEqual([401, 1])
  })

  test('an empty scope is refused by one statement', async () => {
    await changeScope(database.sql, credentials.clientId, { replace: [] }, {})
    expect((await cost('?page=50'))[0]).toBe(400)
    expect(await cost('?page=50')).toEqual([400, 1])
  })
})

describe('for a token that the page memory does not have', () => {
  test('the token is looked up before a page, and in the statement of a single record', async () => {
    expect(await cost('/10')).toEqual([200, 1])
    const second = await newToken(server.url, credentials)
    expect(await cost('?page=50', second)).toEqual([200, 2])
    expect(await cost('?page=50&offset=50', second)).toEqual([200, 1])
  })

  test('hints from another token of the same scope are used', async () => {
    await cost('?page=50')
    const second = await newToken(server.url, credentials)
    await cost('?page=50&offset=50', second)
    expect(sent.filter(text => text.includes('as documents')).join()).not.toContain('reltuples')
  })

  test('an unknown token is refused by one statement, and a text that cannot be a token by none', async () => {
    expect(await cost('?page=50', 'x'.repeat(43))).toEqual([401, 1])
    expect(await cost('?page=50', 'short')).toEqual([401, 0])
  })
})

test('a token is issued, or refused, by one statement', async () => {
  sent = []
  await newToken(server.url, credentials)
  expect(sent).toHaveLength(1)
  sent = []
  await expect(newToken(server.url, { ...credentials, clientSecret: 'wrong' })).rejects.toThrow('401')
  expect(sent).toHaveLength(1)
})

test('the use of a token is noted with the first request and not with the next ones', async () => {
  await cost('?page=50')
  const used = () =>
    database.sql<{ at: string | null }[]>`
      select s.last_used_at::text as at from integration_secrets s join integrations i on i.id = s.integration_id
      where i.client_id = ${credentials.clientId}`
  await until('the use of the secret is written', async () => (await used())[0]?.at)
  beside = []
  for (let page = 0; page < 5; page++) {
    await cost('?page=50')
    expect(beside).toEqual([])
  }
})

test('no use is noted of a token that is refused, however old the last note is', async () => {
  await cost('?page=50')
  await setDisabled(database.sql, credentials.clientId, true)
  const now = performance.now.bind(performance)
  const clock = spyOn(performance, 'now').mockImplementation(() => now() + 61_000)
  try {
    beside = []
    expect((await cost('?page=50'))[0]).toBe(401)
    expect(beside).toEqual([])
    await setDisabled(database.sql, credentials.clientId, false)
    expect((await cost('?page=50'))[0]).toBe(200)
    expect(beside).toHaveLength(1)
  } finally {
    clock.mockRestore()
  }
})
