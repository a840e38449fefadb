import { describe, expect, test } from 'bun:test'
import { checkTriggers } from '../../src/doctor/read-model-checks.ts'
import { badFindings, useHealthyDatabases } from '../support/doctor.ts'
import { succeed } from '../support/operator.ts'

const newHealthyDatabase = useHealthyDatabases()

/** The purpose of the triggers with these names, and the advice after they are enabled again. */
const HARMS: [RegExp, string, string][] = [
  [/_erased_/, 'people who were erased may come back', ''],
  [
    /_history|^integration_history/,
    'changes there are missing in the history of integrations',
    '; then select note_found_integrations()',
  ],
  [
    /^integrations_/,
    'scopes are stored out of order',
    '; then update integrations set organization_ids = organization_ids, product_ids = product_ids',
  ],
  [/^access_tokens_/, 'no tokens can be issued', ''],
  [
    /^integration_secrets_/,
    'tokens may outlive the grace of their secret',
    '; then update integration_secrets set expires_at = expires_at',
  ],
  [/./, 'changes there do not reach the export', '; then axport refresh'],
]

describe('axport doctor warns that writes do not reach the export, before any record differs, about', () => {
  test('each trigger of the schema that is disabled or was dropped', async () => {
    const { sql } = await newHealthyDatabase()
    const triggers = await sql<{ table: string; name: string; definition: string }[]>`
      select tgrelid::regclass::text as table, tgname as name, pg_get_triggerdef(oid) as definition from pg_trigger where not tgisinternal`
    expect(triggers.length).toBeGreaterThan(30)
    for (const { table, name, definition } of triggers) {
      await sql.unsafe(`alter table ${table} disable trigger ${name}`)
      const [, harm, then] = HARMS.find(([of]) => of.test(name)) ?? []
      expect(await checkTriggers(sql)).toEqual([
        {
          check: 'triggers',
          status: 'wrong',
          detail: `some triggers of ${table} are disabled, and ${harm}: alter table ${table} enable trigger user${then}`,
        },
      ])
      await sql.unsafe(`alter table ${table} enable trigger user`)
      await sql.unsafe(`drop trigger ${name} on ${table}`)
      expect(await checkTriggers(sql)).toEqual([
        expect.objectContaining({
          detail: expect.stringMatching(
            new RegExp(
              `^missing: ${name}: create them again, as db/migrations does${RegExp.escape(then ?? '')}$`,
            ),
          ),
        }),
      ])
      await sql.unsafe(definition)
    }
  })

  test('triggers that "disable trigger all" disabled, as pg_restore --disable-triggers does, until the advice was followed', async () => {
    const { sql, url } = await newHealthyDatabase()
    await sql`alter table users disable trigger all`
    const [finding = '', ...others] = await badFindings(url)
    expect(finding).toStartWith('triggers: wrong, some triggers of users are disabled, ')
    expect(others).toEqual([])
    await sql`update users set name = 'Eva' where id = 501`
    expect(await badFindings(url)).toEqual([
      finding,
      expect.stringMatching(/^read model: wrong, 3 of all 3 records/),
    ])
    await sql.unsafe(/: (alter table .*); then axport refresh$/.exec(finding)?.[1] ?? 'no advice')
    await succeed(url, 'refresh')
    expect(await badFindings(url)).toEqual([])
  })

  test('sessions with session_replication_role = replica, as a setting of the database or of a role', async () => {
    const { sql, url } = await newHealthyDatabase()
    const database = new URL(url).pathname.slice(1)
    for (const [set, who] of [
      [`database ${database}`, `role all in database ${database}`],
      [`role postgres in database ${database}`, `role postgres in database ${database}`],
    ]) {
      await sql.unsafe(`alter ${set} set session_replication_role = replica`)
      const [finding = ''] = await badFindings(url)
      expect(finding).toBe(
        `triggers: wrong, sessions with session_replication_role = replica fire no triggers: alter ${who} reset session_replication_role; then axport refresh`,
      )
      await sql.unsafe(/: (alter .*); then axport refresh$/.exec(finding)?.[1] ?? 'no advice')
      expect(await badFindings(url)).toEqual([])
    }
  })

  test('session_replication_role = replica from elsewhere', async () => {
    const { url } = await newHealthyDatabase()
    expect(await badFindings(`${url}?session_replication_role=replica`)).toEqual([
      'triggers: wrong, the session of doctor itself has session_replication_role = replica, from the configuration of the server or from DATABASE_URL, and fires no triggers: remove it there; then axport refresh',
    ])
  })

  test('a subscription to source tables; a subscription that also copies the records is accepted', async () => {
    const { sql, url } = await newHealthyDatabase()
    const subscribe = `
      create subscription feed connection 'host=127.0.0.1 dbname=nowhere' publication feed
        with (connect = false, enabled = false, slot_name = none, create_slot = false)`
    await sql.unsafe(subscribe)
    const take = (table: string) => sql`
      insert into pg_subscription_rel (srsubid, srrelid, srsubstate)
      select oid, to_regclass(${table}), 'r' from pg_subscription where subname = 'feed'`
    await take('users')
    expect(await badFindings(url)).toEqual([
      'triggers: warning, the subscription feed writes users past the triggers: let it write tables of your own and import from those, or run axport refresh after it',
    ])
    await take('export_records')
    expect(await badFindings(url)).toEqual([
      expect.stringMatching(
        /^triggers: warning, the subscription feed writes export_records, users past the triggers/,
      ),
    ])
    await take('export_counts')
    expect(await badFindings(url)).toEqual([])
    await sql`drop subscription feed`
  })
})
