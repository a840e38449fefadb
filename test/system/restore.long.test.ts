import { expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import type { Sql } from 'postgres'
import { migrate } from '../../src/database/migrate.ts'
import { emptyFolder, type Running, serve } from '../support/executable.ts'
import { list, newToken, tryList } from '../support/http.ts'
import { Oracle } from '../support/oracle.ts'
import { requires } from '../support/requires.ts'
import { firstToken } from '../support/served.ts'
import { load } from '../support/service.ts'
import { until } from '../support/until.ts'
import { dump, POSTGRES_15, restore, usePostgres15 } from './support/debian-postgres.ts'
import { expectServed } from './support/expect-served.ts'
import { integrate, on } from './support/operations.ts'
import { linesOf, SCOPE, smallPlatform } from './support/small-platform.ts'

setDefaultTimeout(120_000)

const BEFORE = smallPlatform(0)
const LATER = smallPlatform(1)

const OVER = ['--clean', '--if-exists', '--single-transaction']

requires(POSTGRES_15).describe('a dump that is restored into the database of a running service', () => {
  const server = usePostgres15()
  let databases = 0

  /** Starts a service on a new database with BEFORE in it. `file` is a path for a dump. */
  async function world() {
    const name = `export_${++databases}`
    await asSuperuser(sql => sql.unsafe(`create database ${name} template template0`))
    const url = server.cluster.url(name)
    const file = join(emptyFolder(), 'before.dump')
    await on(url, async sql => {
      await migrate(sql)
      await load(sql, linesOf(BEFORE))
    })
    const credentials = await integrate(url)
    const service = await serve({ DATABASE_URL: url, STATEMENT_TIMEOUT: '5' })
    return { name, url, file, credentials, service, token: await firstToken(service.url, credentials) }
  }

  const asSuperuser = (work: (sql: Sql) => Promise<unknown>) => on(server.cluster.url(), work)

  test('is served after its commit; until then, requests get the former data, a 503 or a 504', async () => {
    const { url, file, credentials, service, token } = await world()
    await expectServed(service.url, token, BEFORE)
    await dump(url, file)
    await on(url, sql => load(sql, linesOf(LATER)))
    await expectServed(service.url, token, LATER)
    const newer = await newToken(service.url, credentials)

    const reader = await keepReading(service, token)
    await restore(file, url, ...OVER)
    await until('the restored data are served', () => reader.seen.has('before'))
    await reader.stop()
    expectAnswers(reader, ['503', '504'])

    await expectServed(service.url, token, BEFORE)
    // Tokens are part of the data: a token that was issued after the dump does not exist any more.
    expect((await tryList(service.url, newer)).status).toBe(401)
    expect(await newToken(service.url, credentials)).toBeString()
  })

  test('is served without a restart of the service if the database was dropped and created again', async () => {
    const { name, url, file, service, token } = await world()
    await dump(url, file)
    await on(url, sql => load(sql, linesOf(LATER)))
    await expectServed(service.url, token, LATER)

    const reader = await keepReading(service, token)
    await asSuperuser(sql => sql.unsafe(`drop database ${name} with (force)`))
    await until('requests get 503', () => reader.seen.has('503'))
    await asSuperuser(sql => sql.unsafe(`create database ${name} template template0`))
    await restore(file, url, '--single-transaction')
    await until('the restored data are served', () => reader.seen.has('before'))
    await reader.stop()
    // Requests get a 500 while the new database has no tables.
    expectAnswers(reader, ['500', '503'])
    await expectServed(service.url, token, BEFORE)
  })

  test('invalidates the page memory of a scope even if later writes concern only other organizations', async () => {
    const { url, file, service } = await world()
    const own = { ...SCOPE, organizations: [1] }
    const token = await newToken(service.url, await integrate(url, own))
    await dump(url, file)
    await on(url, sql => sql`delete from assessments where organization_id = 1`)
    expect((await list(service.url, token)).meta.count).toBe(0)
    await restore(file, url, ...OVER)
    await on(url, sql => sql`delete from assessments where organization_id = 2`)
    await expectServed(service.url, token, BEFORE, own)
  })
})

/** Checks that a reader saw the later data, then the restored ones, and only the statuses 200 and `errors`. */
function expectAnswers({ seen }: { seen: Map<string, number> }, errors: string[]): void {
  const isStatus = (answer: string) => /^\d+$/.test(answer)
  expect([...seen.keys()].filter(answer => !isStatus(answer))).toEqual(['later', 'before'])
  expect(errors).toEqual(expect.arrayContaining([...seen.keys()].filter(isStatus)))
}

/**
 * Reads the first page until stop(). Resolves when the later data were read. `seen` counts the answers: `before`,
 * `later`, or a status.
 */
async function keepReading(service: Running & { url: string }, token: string) {
  const seen = new Map<string, number>()
  const [before, later] = [BEFORE, LATER].map(platform => new Oracle(platform).list(SCOPE, { lists: {} }))
  let isStopped = false
  const reading = (async () => {
    while (!isStopped) {
      const { status, text } = await tryList(service.url, token)
      const answer =
        text === before ? 'before' : text === later ? 'later' : status === 200 ? text : String(status)
      seen.set(answer, (seen.get(answer) ?? 0) + 1)
      await Bun.sleep(10)
    }
  })()
  const stop = async () => {
    isStopped = true
    await reading
  }
  await until('the later data are read', () => (seen.get('later') ?? 0) > 10)
  return { seen, stop }
}
