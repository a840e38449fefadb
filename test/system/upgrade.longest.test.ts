import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { openDatabase } from '../../src/postgres/database.ts'
import { migrate } from '../../src/postgres/schema/migrate.ts'
import { MIGRATIONS, schemaNumber } from '../../src/postgres/schema/migrations.ts'
import { emptyDatabase } from '../support/cluster.ts'
import { axport, cleanUp, ended, errorLine, executable, launch, type Running } from '../support/executable.ts'
import { assessment, ndjsonOf } from '../support/fixtures.ts'
import { type Credentials, newToken, tryList } from '../support/http.ts'
import { WORLD } from '../support/operator.ts'
import { requires } from '../support/requires.ts'
import { type Served, serveWith } from '../support/served.ts'
import { OLD_HISTORY, oldExecutable, oldMigrations } from './support/old-build.ts'

setDefaultTimeout(180_000)

/**
 * An expanding migration, as a later version may have, of a table that the old executable reads and writes.
 */
const ADDED = {
  name: '9000_added',
  sql: `-- compatible-with: 5
    alter table integrations add column added text;
    create table added (id bigint primary key);
    create index added_to_secrets on integration_secrets (created_at)`,
}

requires(OLD_HISTORY).describe('an executable of the oldest compatible commit', () => {
  let old: string
  let env: Record<string, string>
  let credentials: Credentials
  let drop: () => Promise<void>
  let service: { url: string; running: Running }

  const runOld = (...args: string[]) => ended(launch([old, ...args], { env }), {})
  const importBy = (command: string[], ...lines: object[]) =>
    ended(launch([...command, 'import', '-'], { env, stdin: { text: ndjsonOf(lines) } }), {})

  async function serveOld(): Promise<{ url: string; running: Running }> {
    const running = launch([old, 'serve'], { env: { ...env, PORT: '0' } })
    const [, url = ''] = await running.shows(/"url":"([^"]+)".*"listening"/)
    return { url, running }
  }

  beforeAll(async () => {
    old = await oldExecutable()
    const database = await emptyDatabase()
    drop = database.drop
    env = { DATABASE_URL: database.url }
    expect((await runOld('migrate')).code).toBe(0)
    expect((await importBy([old], ...WORLD)).code).toBe(0)
    const scope = ['--organizations', 'all', '--products', 'all']
    credentials = JSON.parse((await runOld('integration', 'create', 'Old', ...scope, '--json')).stdout)
    service = await serveOld()
  })
  afterAll(async () => {
    await cleanUp()
    await drop?.()
  })

  /** Requests pages from the old service while `work` runs, and returns the different answers. */
  async function whileRequesting(work: () => Promise<unknown>): Promise<Set<string>> {
    const token = await newToken(service.url, credentials)
    const answers = new Set<string>()
    let isOver = false
    const done = work().finally(() => {
      isOver = true
    })
    while (!isOver) answers.add((await tryList(service.url, token, 'page=100')).text)
    await done
    return answers
  }

  test('has the same first migrations as the current one', () => {
    const known = oldMigrations()
    expect(known.length).toBeGreaterThanOrEqual(5)
    expect(known).toEqual(MIGRATIONS.slice(0, known.length))
  })

  test('serves the same pages while the new executable migrates', async () => {
    const { url } = service
    const before = (await tryList(url, await newToken(url, credentials), 'page=100')).text
    const answers = await whileRequesting(async () => {
      expect((await axport(['migrate'], { env })).code).toBe(0)
      const { sql, close } = await openDatabase(env.DATABASE_URL as string, 2)
      // The later migration is deleted from the record: the new executable imports only if it knows all migrations.
      expect(await migrate(sql, [...MIGRATIONS, ADDED])).toEqual([ADDED.name])
      await sql`delete from schema_migrations where name = ${ADDED.name}`
      await close()
    })
    expect([...answers]).toEqual([before])
  })

  test('serves the imports of the new executable; both accept the tokens of the other', async () => {
    expect((await importBy([await executable()], assessment(9004))).code).toBe(0)
    const newer: Served = await serveWith([], env)
    const tokens = [await newToken(service.url, credentials), await newToken(newer.url, credentials)]
    const pages = new Set<string>()
    for (const url of [service.url, newer.url])
      for (const token of tokens) pages.add((await tryList(url, token, 'page=100')).text)
    expect(pages.size).toBe(1)
    expect([...pages][0]).toContain('{"id":9004,')
    await newer.end()
  })

  test('starts and provisions on the new schema, but refuses to migrate and to import', async () => {
    const { sql, close } = await openDatabase(env.DATABASE_URL as string, 1)
    await sql`insert into schema_migrations (name, sha256, compatible_with) values (${ADDED.name}, 'x', 5)`
    await close()
    expect(schemaNumber(MIGRATIONS)).toBeGreaterThanOrEqual(5)
    service.running.signal('SIGTERM')
    expect((await service.running.finished).code).toBe(0)
    service = await serveOld()
    expect((await tryList(service.url, await newToken(service.url, credentials), '')).status).toBe(200)
    const { client_id } = credentials as { client_id: string }
    for (const command of ['disable', 'enable', 'rotate'])
      expect([command, (await runOld('integration', command, client_id)).code]).toEqual([command, 0])
    for (const args of [['migrate'], ['import', '-']])
      expect(errorLine(await runOld(...args), 1)).toMatch(/run a newer axport$/)
  })
})
