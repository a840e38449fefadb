import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import postgres from 'postgres'
import { diagnose } from '../support/doctor.ts'
import { codeUnder, pageOf } from '../support/document.ts'
import { axport, cleanUp } from '../support/executable.ts'
import { assessment, ORGANIZATION, PRODUCT, world } from '../support/fixtures.ts'
import { newToken } from '../support/http.ts'
import { importLines } from '../support/import.ts'
import { succeed } from '../support/operator.ts'
import { type OwnCluster, startCluster } from '../support/own-cluster.ts'
import { requires } from '../support/requires.ts'
import { type Served, serveWith } from '../support/served.ts'
import { until } from '../support/until.ts'
import { withConnection } from '../support/with-connection.ts'
import { backAfter, type Loaded, recoveryMs } from './support/back.ts'
import { integrate } from './support/operations.ts'
import { PGBOUNCER, startDocumentedPgBouncer } from './support/pgbouncer.ts'

setDefaultTimeout(120_000)

const TRIALS = 3

requires(PGBOUNCER).describe('behind PgBouncer with the file in docs/operate/database.md', () => {
  let own: OwnCluster
  let bouncer: Awaited<ReturnType<typeof startDocumentedPgBouncer>>
  let service: Served
  let loaded: Loaded

  const asSuperuser = (...statements: string[]) =>
    withConnection(own.url(), async sql => {
      for (const statement of statements) await sql.unsafe(statement)
    })
  const copies = Array.from({ length: TRIALS }, (_, trial) => `copy_${trial}`)

  beforeAll(async () => {
    own = await startCluster()
    const password = crypto.randomUUID()
    await asSuperuser(
      'create role axport login',
      `create role axport_serve login password '${password}'`,
      'create database axport owner axport',
    )
    const owner = own.url('axport')
    await succeed(owner, 'migrate', '--time-zone', 'UTC', '--grant', 'axport_serve')
    await withConnection(owner, sql => importLines(sql, ...world(), assessment(9001)))
    const credentials = await integrate(owner, { organizations: [ORGANIZATION], products: [PRODUCT] })
    const database = Object.assign(new URL(owner), { username: 'axport_serve', password }).href
    const issuer = await serveWith([], { DATABASE_URL: database })
    const token = await newToken(issuer.url, credentials)
    await issuer.end()
    // Databases as after a restore, to be renamed. They have the token, so that every answer can be 200.
    await asSuperuser(...copies.map(copy => `create database ${copy} template axport`))
    bouncer = await startDocumentedPgBouncer(database)
    service = await serveWith([], { DATABASE_URL: bouncer.url })
    loaded = { baseUrl: service.url, token, credentials, id: 9001, database }
  })
  afterAll(async () => {
    await cleanUp()
    await bouncer?.stop()
    await own?.stop()
  })

  /** Repeats a trial, and checks that every endpoint was back in time after each. */
  async function expectBack(act: (trial: number) => Promise<unknown>): Promise<void> {
    const most = await recoveryMs(loaded.database)
    const late: number[] = []
    for (let trial = 0; trial < TRIALS; trial++) {
      const ms = await backAfter(loaded, () => act(trial))
      if (ms > most) late.push(ms)
    }
    expect(late).toEqual([])
  }

  test('every endpoint is back 2 s after Postgres accepts connections again, after a fast restart', async () => {
    await expectBack(async () => {
      await own.shutDown()
      await own.restart()
    })
    const reasons = new Set(service.log().flatMap(({ reason }) => reason ?? []))
    expect([...reasons]).toContain('its pooler reports that the server login has been failing')
  })

  test('every endpoint is back 2 s after databases were renamed as after a restore', async () => {
    const [documented = ''] = codeUnder('5. The names', 'sql', pageOf('backup.md'))
    const statements = documented.trim().split('\n')
    expect(statements).toHaveLength(4)
    await expectBack(async trial => {
      const [close = '', end = '', ...renaming] = statements.map(statement =>
        statement
          .replaceAll('axport_restored', copies[trial] as string)
          .replaceAll('axport_old', `old_${trial}`),
      )
      await asSuperuser(close, end)
      // A connection may have begun in between. The page says to end it then, too.
      for (const rename of renaming) await asSuperuser(rename).catch(() => asSuperuser(end, rename))
    })
  })

  test('doctor notices the pooler, and says what to set in it', async () => {
    const { findings } = await diagnose({ DATABASE_URL: bouncer.url })
    expect(findings[0]).toMatchObject({
      check: 'server',
      status: 'ok',
      detail: expect.stringMatching(/, through a pooler, .* set its server_login_retry to 1$/),
    })
  })

  test('a command that PgBouncer has no room for says so', async () => {
    const full = await startDocumentedPgBouncer(loaded.database, text => `${text}max_client_conn = 1\n`)
    const only = postgres(full.url, { max: 1, fetch_types: false })
    await until('the only client is admitted', () => only`select 1`)
    const { stderr } = await axport(['integration', 'list'], { env: { DATABASE_URL: full.url } })
    expect(stderr).toBe(
      'axport: cannot reach the database: its pooler takes no more clients (max_client_conn): raise that, or stop something else\n',
    )
    await only.end()
    await full.stop()
  })
})
