import { afterAll, beforeAll, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import pino from 'pino'
import { rotateSecret } from '../../../src/integrations/credentials.ts'
import { setDisabled } from '../../../src/integrations/lifecycle.ts'
import { changeScope } from '../../../src/integrations/scope.ts'
import type { ServingDatabase } from '../../../src/postgres/pool/serving-database.ts'
import type { Leases, Runner } from '../../../src/postgres/statement.ts'
import { useTestDatabase } from '../../support/hooks.ts'
import { newToken } from '../../support/http.ts'
import { listen } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { ask, provision } from './servers.ts'
import { reset } from './world.ts'

/** The number of statements per request. A request of a known token needs one, whatever its parameters. */

const database = useTestDatabase()
let server: ReturnType<typeof listen>
let sent: string[] = []
/** Statements that no request waits for. */
let beside: string[] = []
let credentials: { clientId: string; clientSecret: string }
let token: string

beforeAll(() => reset(database.sql, 300))
afterAll(() => server?.stop())

/** The pool, which records the text of every statement. */
function counting(pool: ServingDatabase): ServingDatabase {
  const forRequest = pool.forRequest.bind(pool)
  const noting = (runner: Runner): Runner['unsafe'] => {
    return (text, parameters, options) => {
      sent.push(text)
      return runner.unsafe(text, parameters, options)
    }
  }
  pool.forRequest = (requester): Leases => {
    const leases = forRequest(requester)
    const lease: Leases['lease'] = work =>
      leases.lease(each =>
        work({ begin: () => each.begin(), commit: () => each.commit(), unsafe: noting(each) }),
      )
    return { unsafe: noting(leases), lease }
  }
  const unsafe = pool.unsafe.bind(pool)
  pool.unsafe = (text, parameters, options) => {
    beside.push(text)
    return unsafe(text, parameters, options)
  }
  return pool
}

/** A service with an empty page memory, and a token that the service has not seen. */
beforeEach(async () => {
  await server?.stop()
  server = listen({ pool: (...bounds) => counting(database.pool(...bounds)) }, pino({ level: 'silent' }))
  credentials = await provision(database.sql, { organizations: [1, 2, 3], products: [1, 2] })
  token = await newToken(server.url, credentials)
})

/** The status of a request, and the number of statements that were run for it. */
async function cost(rest: string, of = token): Promise<[status: number, statements: number]> {
  sent = []
  const { status } = await ask(server.url, of, rest)
  return [status, sent.length]
}

describe('for a token in the page memory', () => {
  beforeEach(async () => {
    expect(await cost('?page=50')).toEqual([200, 2])
  })

  const walk = [0, 50, 100, 150, 200].map(offset => `?page=50&offset=${offset}`)
  // Record 50 is outside the scope by its organization, record 70 by its product.
  test.each<[number, string[]]>([
    [200, [...walk, ...walk.map(page => `${page}&sort=user_name&order=DESC`)]],
    [200, ['?filter[search]=ana', '?filter[user_ids][]=1&offset=20', '?sort=proctor_name&offset=101', '/10']],
    [404, ['/999999999', '/50', '/70', '/none', '/99999999999999999999']],
    [400, ['?page=none']],
  ])('a request with the answer %d takes one statement: %j', async (status, requests) => {
    for (const rest of requests) expect([rest, ...(await cost(rest))]).toEqual([rest, status, 1])
  })

  test('the first request after a change of the scope takes one more statement', async () => {
    await changeScope(database.sql, credentials.clientId, { replace: ['4'] }, {})
    expect(await cost('?page=50')).toEqual([200, 2])
    expect(await cost('?page=50')).toEqual([200, 1])
  })

  test('the first request after a write takes no more statements, for writes inside and outside the scope', async () => {
    await database.sql`update users set name = name || ' II' where id = 1`
    expect(await cost('?page=50')).toEqual([200, 1])
    await database.sql`update assessments set legacy_record = not legacy_record where organization_id = 5`
    expect(await cost('?page=50')).toEqual([200, 1])
  })

  test('every request with an ended token or of a disabled integration is refused by one statement', async () => {
    await setDisabled(database.sql, credentials.clientId, true)
    expect(await cost('/10')).toEqual([401, 1])
    await setDisabled(database.sql, credentials.clientId, false)
    expect(await cost('/10')).toEqual([200, 1])
    await rotateSecret(database.sql, credentials.clientId, { force: true })
    for (let time = 0; time < 3; time++) expect(await cost('?page=50')).toEqual([401, 1])
  })

  test('a request with an empty scope is refused by one statement', async () => {
    await changeScope(database.sql, credentials.clientId, { replace: [] }, {})
    expect((await cost('?page=50'))[0]).toBe(400)
    expect(await cost('?page=50')).toEqual([400, 1])
  })
})

describe('for a token that is not in the page memory', () => {
  test('a page takes a statement for the token first, and a single record does not', async () => {
    expect(await cost('/10')).toEqual([200, 1])
    const second = await newToken(server.url, credentials)
    expect(await cost('?page=50', second)).toEqual([200, 2])
    expect(await cost('?page=50&offset=50', second)).toEqual([200, 1])
  })

  test('the hints of another token with the same scope are used', async () => {
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

test('the token endpoint issues or refuses a token by one statement', async () => {
  sent = []
  await newToken(server.url, credentials)
  expect(sent).toHaveLength(1)
  sent = []
  await expect(newToken(server.url, { ...credentials, clientSecret: 'wrong' })).rejects.toThrow('401')
  expect(sent).toHaveLength(1)
})

test("the time of a token's use is recorded by its first request, and not by the next ones", async () => {
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

test('the time of use is never recorded for a refused token', async () => {
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
