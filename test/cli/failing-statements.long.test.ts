import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { axport, cleanUp, errorLine, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { postToken, tryList } from '../support/http.ts'
import { openWorld, provision } from '../support/operator.ts'
import { firstToken, serveWith } from '../support/served.ts'
import type { TestDatabase } from '../support/service.ts'

/**
 * When a statement fails, drizzle's own error has its parameters in its message. None of them may be printed or logged. Here
 * every parameter is marked, and each table is away in turn.
 */

setDefaultTimeout(TEST_TIMEOUT_MS)

const MARK = 'Marked'
const EMAIL = `${MARK}@example.org`
/** An id is a parameter, too. */
const ID = '987654321987'

let database: TestDatabase
let credentials: { clientId: string; clientSecret: string }
beforeAll(async () => {
  database = await openWorld()
  credentials = await provision(database.sql)
})
afterAll(async () => {
  await cleanUp()
  await database.close()
})

/** Runs `work` while a table has another name. */
async function without<Result>(table: string, work: () => Promise<Result>): Promise<Result> {
  const { sql } = database
  await sql.unsafe(`alter table ${table} rename to away`)
  try {
    return await work()
  } finally {
    await sql.unsafe(`alter table away rename to ${table}`)
  }
}

const expectNothingMarked = (text: string) => {
  for (const marked of [MARK, ID, credentials.clientSecret]) expect(text).not.toContain(marked)
}

const COMMANDS: [table: string, args: (clientId: string) => string[]][] = [
  ['organizations', () => ['integration', 'create', MARK, '--organizations', ID]],
  ['integrations', () => ['integration', 'create', MARK, '--purpose', MARK, '--contact', MARK]],
  ['integration_secrets', () => ['integration', 'create', MARK, '--purpose', MARK]],
  ['integrations', id => ['integration', 'describe', id, '--name', MARK]],
  ['integration_history', id => ['integration', 'describe', id, '--purpose', MARK]],
  ['products', id => ['integration', 'scope', id, '--add-products', ID]],
  ['integration_secrets', id => ['integration', 'rotate', id]],
  ['access_tokens', id => ['integration', 'rotate', id]],
  ['export_records', id => ['integration', 'show', id]],
  ['integration_history', () => ['integration', 'history', MARK]],
  ['assessments', () => ['erase', ID, '--dry-run', '--yes']],
  ['erasures', () => ['erase', ID, '--dry-run', '--yes']],
  ['users', () => ['disclosures', '--email', EMAIL]],
  ['disclosures', () => ['disclosures', '--user', ID]],
  ['integration_history', () => ['disclosures', '--integration', MARK]],
  ['export_state', () => ['migrate', '--time-zone', 'Europe/Berlin']],
]

describe.each(COMMANDS)('without the table %s', (table, args) => {
  test(`a command prints no parameter of its statements: ${args('ID').join(' ')}`, async () => {
    const { code, stdout, stderr } = await without(table, () =>
      axport(args(credentials.clientId), { env: { DATABASE_URL: database.url } }),
    )
    expect(code).not.toBe(0)
    expect(stderr).toMatch(/^axport: .*\n$/)
    expectNothingMarked(stdout + stderr)
  })
})

test('a command prints a message of Postgres of several lines as one', async () => {
  const { sql, url } = database
  await sql.unsafe(`
    create function refuse() returns trigger language plpgsql as
      $$ begin raise exception using message = E'first line\\n  second line'; end $$;
    create trigger refuse before insert on integrations for each row execute function refuse()`)
  const all = ['--organizations', 'all', '--products', 'all']
  const finished = await axport(['integration', 'create', 'New', ...all], { env: { DATABASE_URL: url } })
  await sql`drop function refuse cascade`
  expect(errorLine(finished, 1)).toBe('the database refused: first line second line (SQLSTATE P0001)')
})

test('the service logs no parameter of a statement that fails', async () => {
  const running = await serveWith([], { DATABASE_URL: database.url, ADMIN_PORT: '0' })
  const token = await firstToken(running.url, credentials)
  for (const table of ['access_tokens', 'integration_secrets', 'integrations', 'export_records'])
    await without(table, async () => {
      expect((await postToken(running.url, credentials)).status).toBeOneOf([200, 500])
      const query = `filter[search]=${MARK}&filter[seids][]=${MARK}&filter[user_ids][]=${ID}`
      expect((await tryList(running.url, token, query)).status).toBeOneOf([200, 500])
    })
  await running.end()
  expect(running.stdout()).toContain('"status":500')
  expectNothingMarked(running.stdout() + running.stderr())
})
