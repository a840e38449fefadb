import { afterAll, describe, expect, test } from 'bun:test'
import { hostname } from 'node:os'
import type { Sql } from 'postgres'
import { openDatabase } from '../../src/database/database.ts'
import { createIntegration, rotateSecret } from '../../src/integrations/credentials.ts'
import { readHistory } from '../../src/integrations/history.ts'
import { deleteIntegration, describeIntegration, setDisabled } from '../../src/integrations/lifecycle.ts'
import { changeScope } from '../../src/integrations/scope.ts'
import { cleanUp } from '../support/executable.ts'
import { use } from '../support/hooks.ts'
import { openWorld, provision } from '../support/operator.ts'

afterAll(cleanUp)

const INSTANT = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
const ID = expect.any(Number)

/** The events of an integration without their times: the kind and the change of each. */
const eventsOf = async (sql: Sql, clientId: string) =>
  (await readHistory(sql, clientId)).map(({ event, changes }) => [event, changes])

describe('the history of an integration', () => {
  const world = use(() => openWorld())

  test('has every change by a command with role and host, even after the integration was deleted', async () => {
    const { sql } = world
    const description = { purpose: 'Recertification', contact: 'hr@lakeside.example' }
    const { clientId: id } = await createIntegration(sql, 'Nightly', ['10', '11'], 'all', description)
    await describeIntegration(sql, id, { purpose: 'Audit', contact: null })
    await changeScope(sql, id, { add: ['12'], remove: ['10'] }, { remove: ['3'] })
    await rotateSecret(sql, id, {})
    await rotateSecret(sql, id, { graceSeconds: 60 })
    await rotateSecret(sql, id, { graceSeconds: 60, force: true })
    for (const isDisabled of [true, true, false]) await setDisabled(sql, id, isDisabled)
    await deleteIntegration(sql, id)
    expect(await eventsOf(sql, id)).toEqual([
      [
        'created',
        {
          name: [null, 'Nightly'],
          purpose: [null, 'Recertification'],
          contact: [null, 'hr@lakeside.example'],
          all_products: [false, true],
          organizations: { added: [10, 11] },
          products: { added: [1, 2, 3] },
          secrets: { added: [ID] },
        },
      ],
      ['described', { purpose: ['Recertification', 'Audit'], contact: ['hr@lakeside.example', null] }],
      [
        'scope',
        {
          organizations: { added: [12], removed: [10] },
          products: { removed: [3] },
          all_products: [true, false],
        },
      ],
      ['rotated', { secrets: { added: [ID], removed: [ID] } }],
      ['rotated', { secrets: { added: [ID] }, old_secret_expires_at: [null, INSTANT] }],
      ['rotated', { secrets: { added: [ID], removed: [ID] }, old_secret_expires_at: [null, INSTANT] }],
      ['disabled', { disabled_at: [null, INSTANT] }],
      ['enabled', { disabled_at: [INSTANT, null] }],
      [
        'deleted',
        {
          name: ['Nightly', null],
          purpose: ['Audit', null],
          organizations: { removed: [11, 12] },
          products: { removed: [1, 2] },
        },
      ],
    ])
    const events = await readHistory(sql, id)
    const [user] = await sql<{ name: string }[]>`select session_user as name`
    for (const { role, host, name } of events)
      expect({ role, host, name }).toEqual({
        role: user?.name as string,
        name: 'Nightly',
        host: '127.0.0.1',
      })
    expect(events.map(({ purpose }) => purpose)).toEqual(['Recertification', ...Array(8).fill('Audit')])
  })

  test('has no entry for a command that changed nothing, or was refused', async () => {
    const { sql } = world
    const { clientId: id } = await createIntegration(sql, 'Same', ['10'], [])
    await describeIntegration(sql, id, { name: 'Same', purpose: null })
    await changeScope(sql, id, { add: ['10'] }, {})
    await setDisabled(sql, id, false)
    await expect(changeScope(sql, id, { add: ['10', '99'] }, {})).rejects.toThrow('no organizations')
    expect((await eventsOf(sql, id)).map(([event]) => event)).toEqual(['created'])
  })

  test('is written with the change or not at all', async () => {
    const { sql } = world
    const { clientId } = await provision(sql)
    await sql`alter table integration_history add constraint none check (event <> 'described') not valid`
    await expect(describeIntegration(sql, clientId, { purpose: 'Audit' })).rejects.toThrow(
      'integration_history',
    )
    await sql`alter table integration_history drop constraint none`
    const [row] = await sql`select purpose from integrations where client_id = ${clientId}`
    expect(row?.purpose).toBeNull()
  })

  test('has every id of a scope exactly', async () => {
    const { sql } = world
    const large = '9007199254740993'
    await sql`insert into organizations values (${large}, 'Large')`
    const { clientId } = await createIntegration(sql, 'Large', [large], [])
    const [row] =
      await sql`select changes -> 'organizations' ->> 'added' as added from integration_history where client_id = ${clientId}`
    expect(row?.added).toBe(`[${large}]`)
    expect((await readHistory(sql, clientId))[0]?.changes.organizations).toEqual({ added: [BigInt(large)] })
  })

  test('has no entry for SQL of an operator', async () => {
    const { sql } = world
    const { clientId } = await provision(sql)
    await sql`update integrations set purpose = 'Own' where client_id = ${clientId}`
    expect(await eventsOf(sql, clientId)).toHaveLength(1)
  })

  test('cannot be changed, even by the owner of the tables', async () => {
    const { sql } = world
    const before = await readHistory(sql)
    for (const statement of [
      'update integration_history set purpose = null',
      'delete from integration_history',
      'truncate integration_history',
    ])
      expect(await sql.unsafe(statement).catch(error => error.message)).toBe(
        'integration_history is only ever added to',
      )
    expect(await readHistory(sql)).toEqual(before)
  })
})

test('the history has the name of the machine if the server sees no address', async () => {
  const database = await openWorld()
  const [server] = await database.sql<{ folder: string; port: string; name: string }[]>`
    select regexp_replace(current_setting('data_directory'), '/[^/]+$', '') as folder, current_setting('port') as port,
      current_database() as name`
  const host = encodeURIComponent(server?.folder as string)
  const { username, password } = new URL(database.url)
  const url = `postgres://${username}:${password}@/${server?.name}?host=${host}&port=${server?.port}`
  const opened = await openDatabase(url, 1)
  const { clientId } = await createIntegration(opened.sql, 'By a socket', ['10'], [])
  await setDisabled(opened.sql, clientId, true)
  await opened.close()
  const events = await readHistory(database.sql, clientId)
  expect(events.map(({ host }) => host)).toEqual([hostname(), hostname()])
  await database.close()
})
