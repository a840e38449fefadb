import { expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { migrate } from '../../src/database/migrate.ts'
import { badFindings } from '../support/doctor.ts'
import { emptyFolder, serve } from '../support/executable.ts'
import { succeed } from '../support/operator.ts'
import { requires } from '../support/requires.ts'
import { firstToken } from '../support/served.ts'
import { load } from '../support/service.ts'
import { readPlatform } from '../support/stored-platform.ts'
import { until } from '../support/until.ts'
import { dump, POSTGRES_15, restore, usePostgres15 } from './support/debian-postgres.ts'
import { expectServed } from './support/expect-served.ts'
import { importing, integrate, on } from './support/operations.ts'
import { linesOf, smallPlatform } from './support/small-platform.ts'

setDefaultTimeout(120_000)

const BEFORE = smallPlatform(0)
const LATER = smallPlatform(1)
const SOURCE = ['organizations', 'products', 'users', 'assessments', 'assessment_parts']

/** A platform's data without assessments, so that the export is empty. */
const NOTHING = { ...BEFORE, assessments: [] }

requires(POSTGRES_15).describe('data that is written into the source tables without triggers', () => {
  const server = usePostgres15({ wal_level: 'logical' })

  /** Creates a migrated database without data. */
  async function database(name: string): Promise<string> {
    await on(server.cluster.url(), sql => sql.unsafe(`create database ${name} template template0`))
    await on(server.cluster.url(name), sql => migrate(sql))
    return server.cluster.url(name)
  }

  /** Starts a service and requests a token. Returns a function that holds that the service has a platform's pages. */
  async function served(url: string) {
    const service = await serve({ DATABASE_URL: url })
    const token = await firstToken(service.url, await integrate(url))
    return (platform: typeof BEFORE) => expectServed(service.url, token, platform)
  }

  test('by logical replication is reported by doctor and rendered by axport refresh, but not by an import', async () => {
    const platform = await database('platform')
    await on(platform, sql => load(sql, linesOf(BEFORE)))
    const url = await database('export')
    await on(platform, async sql => {
      await sql.unsafe(`create publication feed for table ${SOURCE.join(', ')}`)
      await sql`select pg_create_logical_replication_slot('feed', 'pgoutput')`
    })
    await on(url, sql =>
      sql.unsafe(
        `create subscription feed connection '${platform}' publication feed with (create_slot = false)`,
      ),
    )
    const arrived = () =>
      until(
        'all rows are replicated',
        async () => Bun.deepEquals(await on(url, readPlatform), await on(platform, readPlatform)),
        60_000,
      )
    await arrived()
    // The organizations and products must exist before the integration is created.
    const expectPages = await served(url)
    await expectPages(NOTHING)
    const { stdout } = await importing(url, linesOf(BEFORE))
    expect(stdout).toMatch(/^assessments +0 +0 +240 +0$/m)
    await expectPages(NOTHING)
    expect(await badFindings(url)).toEqual([
      expect.stringMatching(/^export: wrong, 240 of all 240 records differ /),
    ])
    expect(JSON.parse(await succeed(url, 'refresh', '--json'))).toMatchObject({ records: 240 })
    await expectPages(BEFORE)

    await on(platform, sql => load(sql, linesOf(LATER)))
    await arrived()
    await expectPages(BEFORE)
    await succeed(url, 'refresh')
    await expectPages(LATER)
    await on(url, sql => sql.unsafe('alter subscription feed disable'))
  })

  test('by pg_restore --disable-triggers is reported by doctor and rendered by axport refresh', async () => {
    const origin = await database('origin')
    await on(origin, sql => load(sql, linesOf(BEFORE)))
    const file = join(emptyFolder(), 'before.dump')
    await dump(origin, file)
    const url = await database('restored')
    const tables = SOURCE.map(table => `--table=${table}`)
    await restore(file, url, '--data-only', '--disable-triggers', ...tables)
    const expectPages = await served(url)
    await expectPages(NOTHING)
    expect(await badFindings(url)).toEqual([expect.stringMatching(/^export: wrong, 240 of all 240 records/)])
    await succeed(url, 'refresh')
    await expectPages(BEFORE)
    expect(await badFindings(url, '--full')).toEqual([])
  })
})
