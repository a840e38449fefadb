import { afterAll, beforeAll, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import pino from 'pino'
import type { ServingDatabase } from '../../../src/database/pool.ts'
import { rotateSecret } from '../../../src/integrations/credentials.ts'
import { setDisabled } from '../../../src/integrations/lifecycle.ts'
import { changeScope } from '../../../src/integrations/scope.ts'
import { useTestDatabase } from '../../support/hooks.ts'
import { newToken } from '../../support/http.ts'
import { listen } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { useWay, WALKED } from './limits.ts'
import { noting } from './runners.ts'
import { ask, provision } from './servers.ts'
import { kindsOf } from './statements.ts'
import { reset } from './world.ts'

/** The statements of each request. A request of a known token takes one while nothing of its scope changes. */

useWay(WALKED)
const database = useTestDatabase()
let server: ReturnType<typeof listen>
let sent: string[] = []
/** Statements that no request waits for. */
let beside: string[] = []
let credentials: { clientId: string; clientSecret: string }
let token: string

beforeAll(() => reset(database.sql, 300))
afterAll(() => server?.stop())

let pool: ServingDatabase

/** The pool, which records the text of every statement. */
function counting(opened: ServingDatabase): ServingDatabase {
  pool = opened
  const forRequest = pool.forRequest.bind(pool)
  pool.forRequest = ((...bounds) =>
    noting(forRequest(...bounds), text => sent.push(text))) as typeof forRequest
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
    expect(kindsOf(sent)).toEqual(['kept'])
  })

  const walk = [0, 50, 100, 150, 200].map(offset => `?page=50&offset=${offset}`)
  // Record 50 is outside the scope by its organization, record 70 by its product.
  test.each<[number, string[]]>([
    [200, [...walk, ...walk.map(page => `${page}&sort=user_name&order=DESC`)]],
    [200, ['?sort=proctor_name&offset=101', '?page=100', '/10']],
    [404, ['/999999999', '/50', '/70', '/none', '/99999999999999999999']],
    [400, ['?page=none']],
  ])('a request with the answer %d takes one statement: %j', async (status, requests) => {
    for (const rest of requests) expect([rest, ...(await cost(rest))]).toEqual([rest, status, 1])
  })

  test.each(['filter[search]=ana', 'filter[user_ids][]=1', 'filter[start_date]=2025-01-03'])(
    'the first page with the filter %s counts the records, and each page takes one statement',
    async filter => {
      expect((await cost(`?page=10&${filter}`))[0]).toBe(200)
      expect(kindsOf(sent)).toEqual(['counted'])
      expect(await cost(`?page=10&offset=10&${filter}`)).toEqual([200, 1])
    },
  )

  test('the first request after a change of the scope reads the scope, and then its page', async () => {
    await changeScope(database.sql, credentials.clientId, { replace: ['4'] }, {})
    expect(await cost('?page=50')).toEqual([200, 3])
    expect(kindsOf(sent)).toEqual(['start', 'kept'])
    expect(await cost('?page=50')).toEqual([200, 1])
  })

  test('a request after a change of a list reads its page again, with the count', async () => {
    await database.sql`update assessments set legacy_record = not legacy_record where id < 100`
    expect(await cost('?page=50')).toEqual([200, 2])
    expect(await cost('?page=50&offset=50')).toEqual([200, 1])
  })

  test('a request after a write that changes documents alone takes one statement', async () => {
    await database.sql`update organizations set name = name || ' II'`
    await database.sql`update users set email = 'new@example.org'`
    expect(await cost('?page=50')).toEqual([200, 1])
  })

  test('every request with an ended token or of a disabled integration is refused by one statement, and named by another', async () => {
    await setDisabled(database.sql, credentials.clientId, true)
    expect(await cost('/10')).toEqual([401, 2])
    await setDisabled(database.sql, credentials.clientId, false)
    expect(await cost('/10')).toEqual([200, 1])
    await rotateSecret(database.sql, credentials.clientId, { force: true })
    for (let time = 0; time < 3; time++) expect(await cost('?page=50')).toEqual([401, 2])
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

  test('what is remembered of another token with the same scope is used', async () => {
    await cost('?page=50')
    const second = await newToken(server.url, credentials)
    expect(await cost('?page=50&offset=50', second)).toEqual([200, 2])
    expect(kindsOf(sent)).toEqual(['cursor'])
  })

  test('an unknown token is refused by one statement, looked for by another, and a text that cannot be a token by none', async () => {
    expect(await cost('?page=50', 'x'.repeat(43))).toEqual([401, 2])
    expect(await cost('?page=50', 'short')).toEqual([401, 0])
  })
})

test('the client of an ended token is not looked for while all connections are in use', async () => {
  await cost('?page=50')
  await setDisabled(database.sql, credentials.clientId, true)
  const busy = spyOn(pool, 'isBusy').mockReturnValue(true)
  try {
    expect(await cost('?page=50')).toEqual([401, 1])
  } finally {
    busy.mockRestore()
  }
  expect(await cost('?page=50')).toEqual([401, 2])
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
    expect(beside.filter(text => text.includes('last_used_at'))).toEqual([])
    beside = []
    await setDisabled(database.sql, credentials.clientId, false)
    expect((await cost('?page=50'))[0]).toBe(200)
    expect(beside.filter(text => text.includes('last_used_at'))).toHaveLength(1)
  } finally {
    clock.mockRestore()
  }
})
