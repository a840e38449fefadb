import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { migrate } from '../../src/database/migrate.ts'
import { serverUser } from '../../src/database/private-server/programs.ts'
import { createIntegration } from '../../src/integrations/credentials.ts'
import { record } from '../support/disclosures.ts'
import { cleanUp } from '../support/executable.ts'
import type { Line } from '../support/fixtures.ts'
import { newToken, postToken, successful, tryList } from '../support/http.ts'
import { everything } from '../support/import.ts'
import { refusal } from '../support/operator.ts'
import { type OwnCluster, startCluster } from '../support/own-cluster.ts'
import { requires } from '../support/requires.ts'
import { firstToken, type Served, serveWith } from '../support/served.ts'
import { load } from '../support/service.ts'
import { isAlive } from '../support/stop-processes.ts'
import { until } from '../support/until.ts'
import { CUT, DISK_FULL, FOUND, LOST } from '../support/wordings.ts'
import { stateLines } from './chaos/support/service.ts'
import { expectPage, expectServed } from './support/expect-served.ts'
import { importing, integrate, on } from './support/operations.ts'
import { mountSmallDisk, rightToMount, type SmallDisk } from './support/small-disk.ts'
import { linesOf, manyLines, smallPlatform } from './support/small-platform.ts'

setDefaultTimeout(300_000)

const BEFORE = smallPlatform(0)
/** A number of assessments that does not fit into `left` bytes of the disk. */
const MANY = { lines: 20_000, left: 2 << 20 }

const NO_SPACE =
  /^(axport: )?the database refused: could not extend file .*: No space left on device \(SQLSTATE 53100\)$/
const TOKENS_REFUSED = [`${DISK_FULL}: no tokens can be issued`, 'tokens can be issued again'] as const
const RECORDINGS_REFUSED = [
  `${DISK_FULL}: no disclosures can be recorded, so that pages and records are withheld`,
  'disclosures can be recorded again',
] as const
const LOST_AND_FOUND = [LOST, FOUND]

requires(rightToMount()).describe('a full disk of a database', () => {
  let disk: SmallDisk | undefined
  let cluster: OwnCluster | undefined
  afterEach(async () => {
    await cleanUp()
    await cluster?.stop()
    cluster = undefined
    disk?.unmount()
  })

  /** Starts a service on a database with BEFORE in it, of which `part` is on a small disk. */
  async function begin(part: 'tables' | 'log') {
    const small = mountSmallDisk(64, serverUser())
    disk = small
    const own = await startCluster({ settings: { min_wal_size: '32MB', max_wal_size: '32MB' } })
    cluster = own
    const url = await databaseOn(own, small, part)
    const credentials = await integrate(url)
    const service = await serveWith([], { DATABASE_URL: url, ADMIN_PORT: '0' })
    const token = await firstToken(service.url, credentials)
    const isIssued = async () => (await postToken(service.url, credentials)).status === 200
    return { disk: small, own, url, credentials, service, token, isIssued }
  }

  test('makes an import fail with one line and without changes, while the service continues to serve', async () => {
    const { disk, url, service, token } = await begin('tables')
    const before = await on(url, everything)
    const many = manyLines(MANY.lines)
    disk.fill(MANY.left)
    expect(await failedImport(url, many)).toMatch(NO_SPACE)
    expect(await on(url, everything)).toEqual(before)
    await expectServed(service.url, token, BEFORE)

    disk.free()
    expect((await importing(url, many)).code).toBe(0)
    const { body } = await tryList(service.url, token, 'page=1')
    expect(body).toMatchObject({ meta: { count: BEFORE.assessments.length + many.length } })
  })

  test('makes token requests a 503 and leaves pages a 200; the log reports the shortage once', async () => {
    const { disk, credentials, service, token, isIssued } = await begin('tables')
    disk.fill()
    const tokens = [token]
    for (;;) {
      const answer = await postToken(service.url, credentials)
      if (answer.status !== 503) {
        tokens.push((successful(answer) as { access_token: string }).access_token)
        continue
      }
      expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
      expect(answer.body).toEqual({
        error: 'temporarily_unavailable',
        error_description: 'The service is temporarily unavailable: try again later',
      })
      break
    }
    for (const each of tokens.slice(-3)) await expectPage(service.url, each, BEFORE)
    expect(await ready(service)).toEqual([200, expect.stringContaining(TOKENS_REFUSED[0])])
    const metrics = await (await fetch(`${service.admin}/metrics`)).text()
    expect(metrics).toMatch(/^axport_database_shortages_total [1-9]/m)

    disk.free()
    await until('tokens can be issued', async () => !(await ready(service))[1].includes(TOKENS_REFUSED[0]))
    expect(await isIssued()).toBe(true)
    await service.shows(new RegExp(TOKENS_REFUSED[1]))
    expect(warnings(service)).toEqual([...TOKENS_REFUSED])
  })

  test('withholds pages and fails /ready if disclosures are recorded, until they can be recorded again', async () => {
    const { disk, url, service, token } = await begin('tables')
    await on(url, record)
    await expectPage(service.url, token, BEFORE)
    disk.fill()
    await until('a page is withheld', async () => (await tryList(service.url, token)).status === 503)
    // What is tried has to need as much space as what was refused.
    for (let time = 0; time < 10; time++)
      expect(await ready(service)).toEqual([503, expect.stringContaining(RECORDINGS_REFUSED[0])])

    disk.free()
    await until('the service is ready', async () => (await ready(service))[0] === 200)
    await expectPage(service.url, token, BEFORE)
    expect(warnings(service)).toEqual([...RECORDINGS_REFUSED])
  })

  test('of the write-ahead log makes every request a 503; with free space again, no committed change is lost', async () => {
    const { disk, own, url, credentials, service, token, isIssued } = await begin('log')
    const tokens = [token, await newToken(service.url, credentials)]
    const before = await on(url, everything)
    disk.fill()
    expect(await failedImport(url, manyLines(MANY.lines))).toStartWith(`axport: ${CUT}: `)
    await until('Postgres has shut down, since its recovery needs space as well', () => !isAlive(own.pid))
    const answers = [await tryList(service.url, token), await postToken(service.url, credentials)]
    expect(answers.map(({ status }) => status)).toEqual([503, 503])

    disk.free()
    await own.restart()
    await until('pages are answered again', async () => (await tryList(service.url, token)).status === 200)
    expect(await on(url, everything)).toEqual(before)
    for (const each of tokens) await expectServed(service.url, each, BEFORE)
    expect(await isIssued()).toBe(true)
    expect(warnings(service)).toEqual(LOST_AND_FOUND)
  })

  test('makes a command fail with one line, and keeps the changes of earlier commands', async () => {
    const { disk, url, service, token } = await begin('tables')
    disk.fill()
    let created = 0
    await on(url, async sql => {
      for (;;) {
        await createIntegration(sql, `Another ${created}`, 'all', 'all')
        created++
      }
    }).catch(() => {})
    const create = ['integration', 'create', 'More', '--organizations', 'all', '--products', 'all']
    expect(await refusal(url, ...create)).toMatch(NO_SPACE)
    const [row] = await on(url, sql => sql`select count(*)::int as count from integrations`)
    expect(row?.count).toBe(1 + created)
    await expectPage(service.url, token, BEFORE)
  })
})

/**
 * Makes a database with BEFORE in it. Its tables and indexes, or the server's write-ahead log, are on the small disk.
 */
async function databaseOn(cluster: OwnCluster, { folder }: SmallDisk, part: 'tables' | 'log') {
  if (part === 'tables')
    await on(cluster.url(), sql => sql.unsafe(`create tablespace small location '${folder}'`))
  else {
    await cluster.crash()
    const [log, place] = [join(cluster.dataDir, 'pg_wal'), join(folder, 'pg_wal')]
    Bun.spawnSync(['cp', '-a', log, place])
    renameSync(log, `${log}.before`)
    symlinkSync(place, log)
    await cluster.restart()
  }
  const tablespace = part === 'tables' ? 'small' : 'pg_default'
  await on(cluster.url(), sql =>
    sql.unsafe(`create database export template template0 tablespace ${tablespace}`),
  )
  const url = cluster.url('export')
  await on(url, async sql => {
    await migrate(sql)
    await load(sql, linesOf(BEFORE))
  })
  return url
}

/** Imports lines, holds that the import fails with exit code 1, and returns the last line on standard error. */
async function failedImport(url: string, lines: Line[]): Promise<string> {
  const { code, stdout, stderr } = await importing(url, lines)
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  // Lines about the progress stand before the error.
  return stderr.trimEnd().split('\n').at(-1) ?? ''
}

/** The status and the body of /ready. */
async function ready({ admin }: Served): Promise<[number, string]> {
  const answer = await fetch(`${admin}/ready`)
  return [answer.status, await answer.text()]
}

/** A line of the purge of tokens, which runs by itself and may or may not meet the full disk. */
const BY_CHANCE = 'expired tokens could not be purged; trying again later'

/** The messages in a service's log about its database, from the first warning on. */
function warnings(service: Served): unknown[] {
  const lines = stateLines(service).filter(({ msg }) => msg !== BY_CHANCE)
  const first = lines.findIndex(({ level }) => Number(level) >= 40)
  return first < 0 ? [] : lines.slice(first).map(({ msg }) => msg)
}
