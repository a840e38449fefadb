import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { createIntegration } from '../../src/integrations/create.ts'
import { embeddedWorld } from '../support/embedded-world.ts'
import { axport, cleanUp, complaint } from '../support/executable.ts'
import { newToken, postToken, tryList } from '../support/http.ts'
import { everything } from '../support/import.ts'
import { requires } from '../support/requires.ts'
import { serveWith } from '../support/served.ts'
import { until } from '../support/until.ts'
import { expectPage, expectServed } from './support/expect-served.ts'
import { failedImport, issueUntilRefused, warnings } from './support/full-disk.ts'
import { importing, integrate, on } from './support/operations.ts'
import { mountSmallDisk, rightToMount, type SmallDisk } from './support/small-disk.ts'
import { linesOf, manyLines, smallPlatform } from './support/small-platform.ts'

setDefaultTimeout(300_000)

const BEFORE = smallPlatform(0)
const MANY = 1_000

const NO_SPACE =
  /^the database refused: could not extend file .*: No space left on device \(SQLSTATE 53100\)$/

requires(rightToMount()).describe('the full disk of an embedded database', () => {
  let disk: SmallDisk | undefined
  afterEach(async () => {
    await cleanUp()
    disk?.unmount()
  })

  /** A service on BEFORE in a folder on a small disk. */
  async function begin() {
    disk = mountSmallDisk(96)
    const folder = join(disk.folder, 'data')
    Bun.spawnSync(['cp', '-a', await embeddedWorld(linesOf(BEFORE)), folder])
    const url = `embedded:${folder}`
    const credentials = await integrate(url)
    const service = await serveWith([], { DATABASE_URL: url })
    return { disk, url, credentials, service, token: await newToken(service.url, credentials) }
  }

  test('lets imports and other writes fail with one line and nothing half done; the service goes on to serve', async () => {
    const { disk, url, service, token } = await begin()
    disk.fill(1 << 19)
    const before = await on(url, everything)
    expect(await failedImport(url, manyLines(MANY))).toMatch(
      new RegExp(`^axport: ${NO_SPACE.source.slice(1)}`),
    )
    expect(await on(url, everything)).toEqual(before)
    await expectServed(service.url, token, BEFORE)

    disk.fill()
    let created = 0
    await on(url, async sql => {
      for (;;) {
        await createIntegration(sql, `Another ${created}`, 'all', 'all')
        created++
      }
    }).catch(() => {})
    const create = ['integration', 'create', 'One more', '--organizations', 'all', '--products', 'all']
    expect(complaint(await axport(create, { env: { DATABASE_URL: url } }), 1)).toMatch(NO_SPACE)
    const [row] = await on(url, sql => sql`select count(*)::int as count from integrations`)
    expect(row?.count).toBe(1 + created)
    await expectPage(service.url, token, BEFORE)

    disk.free()
    const few = manyLines(100)
    expect((await importing(url, few)).code).toBe(0)
    const { body } = await tryList(service.url, token, 'page=1')
    expect(body).toMatchObject({ meta: { count: BEFORE.assessments.length + few.length } })
  })

  test('is a 503 for tokens and nothing for pages; the log says so once', async () => {
    const { disk, credentials, service, token } = await begin()
    disk.fill()
    const tokens = await issueUntilRefused(service.url, credentials)
    for (const each of [token, ...tokens.slice(-3)]) await expectPage(service.url, each, BEFORE)

    disk.free()
    await until(
      'a token is issued again',
      async () => (await postToken(service.url, credentials)).status === 200,
    )
    expect(warnings(service)).toEqual([
      'the disk of the database is full: no tokens can be issued',
      'the database takes writes again',
    ])
  })

  test('that has no space for its log is a 503 for everything, until there is space again', async () => {
    const { disk, url, credentials, service, token } = await begin()
    const tokens = [token, await newToken(service.url, credentials)]
    disk.fill()
    await until('a write finds no space for the log', () => writesLog(url).then(isWritten => !isWritten))
    const answers = [await tryList(service.url, token), await postToken(service.url, credentials)]
    expect(answers.map(({ status }) => status)).toEqual([503, 503])

    disk.free()
    await until('pages are answered again', async () => (await tryList(service.url, token)).status === 200)
    for (const each of tokens) await expectServed(service.url, each, BEFORE)
    expect((await postToken(service.url, credentials)).status).toBe(200)
    expect(warnings(service)).toEqual([
      'the database can not be reached',
      'the database can be reached again',
    ])
  })
})

/** Writes a megabyte into the log alone; whether that was possible. */
function writesLog(url: string): Promise<boolean> {
  return on(url, sql => sql`select pg_logical_emit_message(false, 'axport', repeat('x', 1000000))`).then(
    () => true,
    () => false,
  )
}
