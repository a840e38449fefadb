import { describe, expect, test } from 'bun:test'
import { badFindings, useHealthyDatabases } from '../support/doctor.ts'
import { succeed } from '../support/operator.ts'

const newHealthyDatabase = useHealthyDatabases()

describe('axport doctor reports, before any record differs,', () => {
  test('a disabled trigger of any table, with the statement that enables it', async () => {
    const { sql, url } = await newHealthyDatabase()
    const tables = await sql<{ name: string }[]>`
      select distinct tgrelid::regclass::text as name from pg_trigger where not tgisinternal`
    expect(tables.length).toBeGreaterThan(8)
    for (const { name } of tables) {
      await sql.unsafe(`alter table ${name} disable trigger user`)
      const [finding = '', ...others] = await badFindings(url)
      expect(finding).toStartWith(`triggers: wrong, triggers of ${name} are disabled`)
      expect(others).toEqual([])
      await sql.unsafe(/: (alter table .*), then axport refresh$/.exec(finding)?.[1] ?? 'no advice')
    }
    expect(await badFindings(url)).toEqual([])
  })

  test('triggers that "disable trigger all" disabled, as pg_restore --disable-triggers does, until the advice was followed', async () => {
    const { sql, url } = await newHealthyDatabase()
    await sql`alter table users disable trigger all`
    const [finding = '', ...others] = await badFindings(url)
    expect(finding).toEndWith(': alter table users enable trigger all, then axport refresh')
    expect(others).toEqual([])
    await sql`update users set name = 'Eva' where id = 501`
    expect(await badFindings(url)).toEqual([
      finding,
      expect.stringMatching(/^export: wrong, 3 of all 3 records/),
    ])
    await sql`alter table users enable trigger all`
    await succeed(url, 'refresh')
    expect(await badFindings(url)).toEqual([])
  })

  test('session_replication_role = replica, and where it is set', async () => {
    const { sql, url } = await newHealthyDatabase()
    const database = new URL(url).pathname.slice(1)
    const reported = (source: string) => [
      `triggers: wrong, this session has session_replication_role = replica (from: ${source}), and fires no ` +
        'triggers: remove it there, then axport refresh',
    ]
    for (const [where, source] of [
      [`database ${database}`, 'database'],
      [`role postgres in database ${database}`, 'database user'],
    ] as const) {
      await sql.unsafe(`alter ${where} set session_replication_role = replica`)
      expect(await badFindings(url)).toEqual(reported(source))
      await sql.unsafe(`alter ${where} reset session_replication_role`)
    }
    expect(await badFindings(`${url}?options=-c%20session_replication_role%3Dreplica`)).toEqual(
      reported('client'),
    )
  })

  test('a trigger that is missing, whichever, until it was created again', async () => {
    const { sql, url } = await newHealthyDatabase()
    const triggers = await sql<{ name: string; table: string; again: string }[]>`
      select tgname as name, tgrelid::regclass::text as table, pg_get_triggerdef(oid) as again
      from pg_trigger where not tgisinternal`
    expect(triggers.length).toBeGreaterThan(40)
    for (const { name, table, again } of triggers) {
      await sql.unsafe(`drop trigger ${name} on ${table}`)
      expect(await badFindings(url)).toEqual([
        expect.stringMatching(
          new RegExp(
            `^triggers: wrong, the trigger ${name} of ${table} is missing, .*: create it as db/migrations/\\d{4}_\\w+\\.sql does, then axport refresh$`,
          ),
        ),
      ])
      await sql.unsafe(again)
    }
    expect(await badFindings(url)).toEqual([])
  })
})
