import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { migrate } from '../../src/postgres/migrate.ts'
import { isAlive } from '../support/cluster-folder.ts'
import { cleanUp } from '../support/executable.ts'
import { type Credentials, newToken, postToken, tryList } from '../support/http.ts'
import { everything } from '../support/import.ts'
import { type OwnCluster, startCluster } from '../support/own-cluster.ts'
import { postgresBinaries } from '../support/postgres-binaries.ts'
import { requires } from '../support/requires.ts'
import { serveWith } from '../support/served.ts'
import { load } from '../support/service.ts'
import { until } from '../support/until.ts'
import { expectPage, expectServed } from './support/expect-served.ts'
import { failedImport, issueUntilRefused, warnings } from './support/full-disk.ts'
import { importing, integrate, on } from './support/operations.ts'
import { mountSmallDisk, rightToMount, type SmallDisk } from './support/small-disk.ts'
import { linesOf, manyLines, smallPlatform } from './support/small-platform.ts'

setDefaultTimeout(180_000)

const BEFORE = smallPlatform(0)
const MANY = 20_000

const isIssued = async (url: string, credentials: Credentials) =>
  (await postToken(url, credentials)).status === 200

requires(rightToMount()).describe('the full disk of a Postgres', () => {
  let disk: SmallDisk | undefined
  let cluster: OwnCluster | undefined
  afterEach(async () => {
    await cleanUp()
    await cluster?.stop()
    disk?.unmount()
  })

  /** A service on BEFORE in a database of which `place` puts a part on a small disk. */
  async function begin(place: (cluster: OwnCluster, disk: SmallDisk) => Promise<void>) {
    const { owner } = await postgresBinaries()
    disk = mountSmallDisk(64, owner)
    cluster = await startCluster({ settings: { min_wal_size: '32MB', max_wal_size: '32MB' } })
    await place(cluster, disk)
    const url = cluster.url('export')
    await on(url, async sql => {
      await migrate(sql)
      await load(sql, linesOf(BEFORE))
    })
    const credentials = await integrate(url)
    const service = await serveWith([], { DATABASE_URL: url, DATABASE_WAIT: '1' })
    return { disk, cluster, url, credentials, service, token: await newToken(service.url, credentials) }
  }

  test('lets an import fail with one line and nothing half done; the service goes on to serve', async () => {
    const { disk, url, service, token } = await begin(tablesOnDisk)
    const before = await on(url, everything)
    const many = manyLines(MANY)
    disk.fill(2 << 20)
    expect(await failedImport(url, many)).toMatch(
      /^axport: the database refused: could not extend file .*: No space left on device \(SQLSTATE 53100\)$/,
    )
    expect(await on(url, everything)).toEqual(before)
    await expectServed(service.url, token, BEFORE)

    disk.free()
    expect((await importing(url, many)).code).toBe(0)
    const { body } = await tryList(service.url, token, 'page=1')
    expect(body).toMatchObject({ meta: { count: BEFORE.assessments.length + MANY } })
  })

  test('is a 503 for tokens and nothing for pages; the log says so once', async () => {
    const { disk, credentials, service, token } = await begin(tablesOnDisk)
    disk.fill()
    const tokens = await issueUntilRefused(service.url, credentials)
    for (const each of [token, ...tokens.slice(-3)]) await expectPage(service.url, each, BEFORE)

    disk.free()
    await until('a token is issued again', () => isIssued(service.url, credentials))
    expect(warnings(service)).toEqual([
      'the disk of the database is full: no tokens can be issued',
      'the database takes writes again',
    ])
  })

  test('for its log ends it; once it is started again, all is there that was answered, and no import half', async () => {
    const { disk, cluster, url, credentials, service, token } = await begin(logOnDisk)
    const tokens = [token, await newToken(service.url, credentials)]
    const before = await on(url, everything)
    disk.fill()
    expect(await failedImport(url, manyLines(MANY))).toBe(
      'axport: the connection to the database was lost; nothing half-done is left',
    )
    await until('Postgres has shut down, since its recovery needs space as well', () => !isAlive(cluster.pid))
    const answers = [await tryList(service.url, token), await postToken(service.url, credentials)]
    expect(answers.map(({ status }) => status)).toEqual([503, 503])

    disk.free()
    await cluster.restart()
    await until('pages are answered again', async () => (await tryList(service.url, token)).status === 200)
    expect(await on(url, everything)).toEqual(before)
    for (const each of tokens) await expectServed(service.url, each, BEFORE)
    expect(await isIssued(service.url, credentials)).toBe(true)
    expect(warnings(service)).toEqual([
      'the database can not be reached',
      'the database can be reached again',
    ])
  })
})

/** Tables and indexes on the small disk, the server's log elsewhere. */
async function tablesOnDisk(cluster: OwnCluster, { folder }: SmallDisk): Promise<void> {
  await on(cluster.url(), async sql => {
    await sql.unsafe(`create tablespace small location '${folder}'`)
    await sql`create database export template template0 tablespace small`
  })
}

/** The server's log on the small disk, tables and indexes elsewhere. */
async function logOnDisk(cluster: OwnCluster, { folder }: SmallDisk): Promise<void> {
  await cluster.crash()
  const [log, place] = [join(cluster.dataDir, 'pg_wal'), join(folder, 'pg_wal')]
  Bun.spawnSync(['cp', '-a', log, place])
  renameSync(log, `${log}.before`)
  symlinkSync(place, log)
  await cluster.restart()
  await on(cluster.url(), sql => sql`create database export template template0`)
}
