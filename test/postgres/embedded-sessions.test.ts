import { afterEach, beforeAll, describe, expect, test } from 'bun:test'
import pino from 'pino'
import type { Sql } from 'postgres'
import { openEmbedded } from '../../src/postgres/embedded/embedded.ts'
import { rawConnection } from '../support/embedded-notes.ts'
import { assessment, world } from '../support/fixtures.ts'
import { connectForeign } from '../support/foreign-client.ts'
import { useTestDatabase } from '../support/hooks.ts'
import { list, newToken } from '../support/http.ts'
import { authorize, listen, load } from '../support/service.ts'

const database = useTestDatabase('embedded')

/** Two assessments on each of some days. In another DateStyle most of these days are other days. */
const DAYS = [
  '2026-01-02',
  '2026-02-01',
  '2026-02-11',
  '2026-03-12',
  '2026-11-02',
  '2026-12-03',
  '2027-01-01',
]
const IDS = Array.from({ length: 2 * DAYS.length }, (_, at) => 100 + at)

beforeAll(() =>
  load(database.sql, [
    ...world(),
    ...IDS.map((id, at) => assessment(id, { certified_at: DAYS[Math.floor(at / 2)] })),
  ]),
)

const opened: { end(): Promise<void> }[] = []
afterEach(async () => {
  for (const { end } of opened.splice(0)) await end()
})

async function foreignClient(): Promise<Sql> {
  const sql = await connectForeign(database.url)
  opened.push({ end: () => sql.end({ timeout: 0 }) })
  return sql
}

/** A service that remembers nothing yet, and an integration that reads everything. */
async function newService() {
  const { url, stop } = listen(database, pino({ enabled: false }))
  opened.push({ end: stop })
  const { token, clientId, clientSecret } = await authorize(
    { ...database, baseUrl: url, logged: () => '' },
    [10],
    [1],
  )
  const page = async (offset: number, query = '') => {
    const { data } = await list(url, token, `page=4&offset=${offset}${query}`)
    return data.map(({ id }) => id)
  }
  return { page, newToken: () => newToken(url, { clientId, clientSecret }) }
}

describe('another program with a connection to the embedded database changes no answer of the service', () => {
  test.each([
    `set datestyle = 'SQL, DMY'`,
    'set search_path = nowhere',
    'set default_transaction_read_only = on',
    `set timezone = 'Asia/Tokyo'`,
    'set array_nulls = off',
    'set role pg_monitor',
    'set session authorization pg_monitor',
    'create temporary table export_records (like export_records)',
    `create function pg_temp.search_folded(text) returns text language sql as 'select null'`,
    'discard all',
    'deallocate all',
    'begin; create temporary table export_records (like export_records); commit',
  ])('by %s', async statement => {
    const service = await newService()
    expect(await service.page(0)).toEqual(IDS.slice(0, 4))
    const foreign = await foreignClient()
    await foreign.unsafe(statement).catch(() => {})
    expect(await service.page(4)).toEqual(IDS.slice(4, 8))
    await service.newToken()
    await foreign.end()
    expect(await service.page(8)).toEqual(IDS.slice(8, 12))
    expect(await service.page(12)).toEqual(IDS.slice(12))
    expect(await service.page(0, '&filter[search]=ana')).toEqual(IDS.slice(0, 4))
    await service.newToken()
  })
})

describe('a session of another program on the embedded database', () => {
  test('is ended if its open transaction is idle while a request waits', async () => {
    const service = await newService()
    const foreign = await foreignClient()
    await foreign.unsafe('begin; create temporary table export_records (like export_records)')
    expect(await service.page(0)).toEqual(IDS.slice(0, 4))
    await expect(foreign.unsafe('table pg_temp.export_records')).rejects.toThrow('does not exist')
  })

  test('keeps its settings, and no other session has them', async () => {
    const [one, other] = [await foreignClient(), await foreignClient()]
    await one.unsafe(
      `set datestyle = 'SQL, DMY'; set search_path = "a'b\\", pg_catalog; set client_encoding = latin1`,
    )
    await one`set standard_conforming_strings = off`
    await other`set datestyle = 'German'`
    await other`set role pg_monitor`
    const settings = (sql: Sql) => sql`
      select current_date - current_date + '2026-03-01'::date || '' as day, current_user as role,
        current_setting('search_path') as path, current_setting('client_encoding') as encoding`
    for (const _ of [1, 2]) {
      expect([...(await settings(one))]).toEqual([
        { day: '01/03/2026', role: 'postgres', path: `"a'b\\", pg_catalog`, encoding: 'LATIN1' },
      ])
      expect([...(await settings(other))]).toEqual([
        { day: '01.03.2026', role: 'pg_monitor', path: 'public', encoding: 'UTF8' },
      ])
      expect([...(await settings(database.sql))]).toEqual([
        { day: '2026-03-01', role: 'postgres', path: 'public', encoding: 'UTF8' },
      ])
    }
  })

  test('keeps its settings within a transaction, and loses those of a transaction that is rolled back', async () => {
    const foreign = await foreignClient()
    await foreign`set work_mem = '5MB'`
    await foreign.unsafe(`begin; set work_mem = '6MB'`)
    expect([...(await foreign`show work_mem`)]).toEqual([{ work_mem: '6MB' }])
    await foreign`rollback`
    expect([...(await foreign`show work_mem`)]).toEqual([{ work_mem: '5MB' }])
  })

  test('is ended if its settings cannot be put back', async () => {
    const [one, other] = [await foreignClient(), await foreignClient()]
    await one`create role reader`
    await one`set role reader`
    await other`drop role reader`
    await expect(one`select 1`).rejects.toThrow('the settings of this session cannot be put back')
    const next = await foreignClient()
    expect([...(await next`select current_user as role`)]).toEqual([{ role: 'postgres' }])
  })

  test.each([
    ['temporary tables', 'create temporary table t (a int)', 'select * from t'],
    [
      'temporary tables',
      `create function pg_temp.f() returns int language sql as 'select 1'`,
      'select pg_temp.f()',
    ],
    ['statements of PREPARE', 'prepare p as select 1', 'execute p'],
    ['cursors', 'declare c cursor with hold for select 1', 'fetch c'],
    [
      'advisory locks',
      'select pg_advisory_lock(1)',
      `select 1 / (select count(*) from pg_locks where locktype = 'advisory')`,
    ],
    ['channels of LISTEN', 'listen c', 'select 1 / (select count(*) from pg_listening_channels())'],
  ])('cannot keep %s: %s', async (what, statement, use) => {
    const foreign = await foreignClient()
    await expect(foreign.unsafe(statement)).rejects.toThrow(
      `the embedded database has one session for all programs, and dropped your ${what}: use them within one transaction`,
    )
    await expect(foreign.unsafe(use)).rejects.toThrow()
    // Its connection goes on.
    expect([...(await foreign`select 1 as one`)]).toEqual([{ one: 1 }])
  })

  test('may use these within one transaction', async () => {
    const foreign = await foreignClient()
    const rows = await foreign.begin(async sql => {
      await sql`create temporary table t on commit drop as select 5 as a`
      await sql`declare c cursor for table t`
      await sql`select pg_advisory_xact_lock(1)`
      return await sql`fetch c`
    })
    expect([...rows]).toEqual([{ a: 5 }])
  })

  test('keeps its prepared statements, whose names others may use too', async () => {
    const { socketPath } = await openEmbedded(database.url.slice('embedded:'.length))
    const connections = ['one', 'other'].map(name => ({ name, raw: rawConnection({ socketPath }) }))
    for (const statement of ['S_1', ''])
      for (const { name, raw } of connections) {
        raw.send(['P', `${statement}\0select 'of ${name}'\0\0\0`], ['D', `S${statement}\0`], ['S', ''])
        await raw.answered('Z\0\0\0\x05I')
      }
    for (const statement of ['S_1', ''])
      for (const { name, raw } of connections) {
        raw.send(['B', `\0${statement}\0\0\0\0\0\0\0`], ['E', '\0\0\0\0\0'], ['S', ''])
        await raw.answered(`of ${name}`)
      }
    // An unnamed statement is replaced by the next one.
    const [{ raw }] = connections as [(typeof connections)[0]]
    for (const n of [1, 2, 3]) {
      raw.send(['P', `\0select 'number ${n}'\0\0\0`], ['S', ''])
      raw.send(['B', '\0\0\0\0\0\0\0\0'], ['E', '\0\0\0\0\0'], ['S', ''])
      await raw.answered(`number ${n}`)
    }
    raw.send(['C', 'SS_1\0'], ['S', ''], ['B', '\0S_1\0\0\0\0\0\0\0'], ['S', ''])
    await raw.answered('does not exist')
    for (const { raw } of connections) raw.destroy()
  })
})

test('a statement that waits for the transaction of another program is prepared once', async () => {
  const client = await foreignClient()
  const waiting = await client.begin(async transaction => {
    await transaction`select 1`
    const answers = [
      database.sql`select 1 as one`.execute(),
      (await foreignClient())`select 2 as two`.execute(),
    ]
    await Bun.sleep(100)
    return answers
  })
  expect((await Promise.all(waiting)).map(rows => [...rows])).toEqual([[{ one: 1 }], [{ two: 2 }]])
})
