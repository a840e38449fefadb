import { afterAll, beforeAll, expect, test } from 'bun:test'
import { CallerMemory } from '../../src/http/caller-memory.ts'
import { sha256 } from '../../src/random.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'

/** Of the callers, as many are remembered as there is room for: those of the tokens that were seen last. */

const MOST = 1000

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase('postgres')
  await database.sql.unsafe(`
    insert into integrations (client_id, name, organization_ids, product_ids) values ('c', 'C', '{1}', '{2}');
    insert into integration_secrets (integration_id, digest) select id, sha256('secret') from integrations;
    insert into access_tokens (digest, secret_id, expires_at)
    select sha256(('token' || n)::bytea), id, now() + interval '1 hour'
    from integration_secrets, generate_series(0, ${MOST}) n`)
})
afterAll(() => database?.close())

const token = (number: number) => sha256(`token${number}`)

test('a thousand are remembered, and the one that was seen longest ago makes room', async () => {
  const memory = new CallerMemory(database.sql)
  for (let number = 0; number < MOST; number++) {
    expect(memory.recall(token(number))).toBeUndefined()
    await memory.find(database.sql, token(number))
  }
  expect(memory.recall(token(0))?.clientId).toBe('c')
  await memory.find(database.sql, token(MOST))
  expect(memory.recall(token(1))).toBeUndefined()
  expect(memory.recall(token(0))?.clientId).toBe('c')
  expect(memory.recall(token(2))?.clientId).toBe('c')
  expect(memory.recall(token(MOST))?.clientId).toBe('c')
})

test('a token that nobody has is not remembered', async () => {
  const memory = new CallerMemory(database.sql)
  expect(await memory.find(database.sql, sha256('nobody'))).toBeUndefined()
  expect(memory.recall(sha256('nobody'))).toBeUndefined()
})
