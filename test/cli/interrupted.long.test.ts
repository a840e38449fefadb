// Commands that a signal ends while they wait for a lock, which another session holds for longer.
import { afterAll, afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import postgres, { type Sql } from 'postgres'
import { LOCKS } from '../../src/database/advisory-locks.ts'
import { migrate } from '../../src/database/migrate.ts'
import { MIGRATIONS } from '../../src/database/migrations.ts'
import { cleanUp, ended, start, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { ndjsonOf, organization } from '../support/fixtures.ts'
import { openWorld, provision } from '../support/operator.ts'
import type { TestDatabase } from '../support/service.ts'
import { until } from '../support/until.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)
afterAll(cleanUp)

let database: TestDatabase
let locker: Sql
let clientId: string
beforeEach(async () => {
  database = await openWorld()
  clientId = (await provision(database.sql)).clientId
  locker = postgres(database.url, { max: 1, onnotice: () => {} })
})
afterEach(async () => {
  await locker.end()
  await database.close()
})

const waiting = async () =>
  await database.sql`
    select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`

/** Runs a command until it waits for a lock, and signals it. The lock is kept until nothing waits for it any more. */
async function interruptAt(lock: string, args: string[], signal: 'SIGINT' | 'SIGTERM' = 'SIGINT') {
  const env = { DATABASE_URL: database.url, PORT: '0' }
  const stdin = { text: ndjsonOf([organization(99)]) }
  return await locker.begin(async sql => {
    await sql.unsafe(lock)
    const running = await start(args, { env, stdin })
    await until('it waits for the lock', async () => (await waiting()).count > 0)
    running.signal(signal)
    const finished = await ended(running, {})
    await until('its statement has ended on the server', async () => (await waiting()).count === 0, 10_000)
    return finished
  })
}

const locked = (table: string) => `lock table ${table} in access exclusive mode`
const INTEGRATIONS = locked('integrations')
/** Lets a command write a table, and not vacuum it. */
const unvacuumed = (table: string) => `lock table ${table} in share update exclusive mode`

describe('Ctrl-C ends a command and its statement on the server, and says what was committed:', () => {
  test.each([
    ['migrate', `select pg_advisory_xact_lock(${LOCKS.schema})`, 'nothing was changed'],
    [
      'migrate --time-zone Europe/Berlin',
      locked('export_state'),
      'the schema is up to date; the rest was not done',
    ],
    [
      'migrate --disclosures on',
      locked('disclosure_state'),
      'the schema is up to date; the rest was not done',
    ],
    ['import -', locked('organizations'), 'nothing was loaded'],
    ['refresh', locked('export_state'), 'nothing was changed'],
    ['erase 501 --yes', locked('erasures'), 'nobody was erased'],
    ['erase 501 --remove-tombstone', locked('erasures'), 'nothing was changed'],
    ['integration create Late', INTEGRATIONS, 'no integration was created'],
    ['integration describe ID --name Late', INTEGRATIONS, 'nothing was changed'],
    ['integration scope ID --products 1', INTEGRATIONS, 'nothing was changed'],
    ['integration rotate ID', INTEGRATIONS, 'the secret was not replaced'],
    ['integration disable ID', INTEGRATIONS, 'nothing was changed'],
    ['integration enable ID', INTEGRATIONS, 'nothing was changed'],
    ['integration delete ID --yes', INTEGRATIONS, 'nothing was deleted'],
  ])('axport %s', async (line, lock, said) => {
    const args = line.split(' ').map(word => (word === 'ID' ? clientId : word))
    const { code, stderr } = await interruptAt(lock, args)
    expect({ code, stderr }).toEqual({ code: 130, stderr: `axport: interrupted: ${said}\n` })
  })

  test.each([
    [
      'erase 501 --yes',
      unvacuumed('users'),
      'user 501 is erased, and the files of the tables still have what was deleted: VACUUM failed (it was interrupted); axport erase 501 tries again',
    ],
    [
      'refresh',
      unvacuumed('users'),
      'all was refreshed, and the files of the tables still have what was deleted: VACUUM failed (it was interrupted); axport refresh as the owner of the tables tries again',
    ],
    [
      'import -',
      unvacuumed('organizations'),
      'all was loaded, and statistics were not gathered (it was interrupted): ',
    ],
  ])('axport %s, in its VACUUM or ANALYZE', async (line, lock, said) => {
    const { code, stderr } = await interruptAt(lock, line.split(' '))
    expect({ code, stderr }).toEqual({
      code: 130,
      stderr: expect.stringMatching(new RegExp(`^axport: interrupted: ${RegExp.escape(said)}.*\n$`)),
    })
  })

  test('axport migrate, with the migrations that it has applied', async () => {
    const { sql } = database
    await sql`drop schema public cascade`
    await sql`create schema public`
    await migrate(sql, MIGRATIONS.slice(0, 3))
    // The sixth makes triggers of this table.
    const { code, stderr } = await interruptAt('lock table organizations in row exclusive mode', ['migrate'])
    expect(code).toBe(130)
    expect(stderr).toEndWith(
      'axport: interrupted: applied 0004_version, 0005_counts; the rest was not done\n',
    )
  })
})

test.each([
  ['integration list', INTEGRATIONS],
  ['integration history', locked('integration_history')],
  ['disclosures', locked('disclosures')],
  ['erasures', locked('erasures')],
  ['doctor', locked('schema_migrations')],
])('Ctrl-C ends axport %s and its statement on the server', async (line, lock) => {
  expect(await interruptAt(lock, line.split(' '))).toMatchObject({ code: 130, stdout: '' })
})

test('SIGTERM ends axport serve that waits for a database that says nothing', async () => {
  const reached = Promise.withResolvers<void>()
  using silent = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: { open: () => reached.resolve(), data: () => {} },
  })
  const env = { DATABASE_URL: `postgres://user@127.0.0.1:${silent.port}/nothing`, PORT: '0' }
  const running = await start(['serve'], { env })
  await reached.promise
  running.signal('SIGTERM')
  expect(await ended(running, { timeoutMs: 5000 })).toMatchObject({ code: 0, stderr: '' })
})

test.each([
  ['the schema', locked('schema_migrations')],
  ['the state of disclosures', locked('disclosure_state')],
])('SIGTERM ends axport serve that waits for %s at its start', async (_, lock) => {
  const { code, stdout, stderr } = await interruptAt(lock, ['serve'], 'SIGTERM')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^[^\n]*"signal":"SIGTERM","msg":"stopping"}\n$/)
})
