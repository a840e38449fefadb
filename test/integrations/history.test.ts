import { afterAll, describe, expect, test } from 'bun:test'
import { hostname } from 'node:os'
import type { Sql } from 'postgres'
import { openDatabase } from '../../src/database/database.ts'
import { createIntegration, rotateSecret } from '../../src/integrations/credentials.ts'
import { deleteIntegration, describeIntegration, setDisabled } from '../../src/integrations/lifecycle.ts'
import { readHistory } from '../../src/integrations/report.ts'
import { changeScope } from '../../src/integrations/scope.ts'
import { cleanUp } from '../support/executable.ts'
import { use } from '../support/hooks.ts'
import { openWorld, provision } from '../support/operator.ts'
import { useRoles } from '../support/roles.ts'

afterAll(cleanUp)
const newRole = useRoles()

const INSTANT = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00$/)
const ID = expect.any(Number)

/** The events of an integration without their times: the kind and the change of each. */
const eventsOf = async (sql: Sql, clientId: string) =>
  (await readHistory(sql, clientId)).map(({ event, changes }) => [event, changes])

/** The events that an operator's own SQL causes for its own integration. */
async function eventsBy(sql: Sql, write: (id: string, clientId: string) => Promise<unknown>) {
  const { clientId } = await provision(sql, ['10'], ['1'])
  const [row] = await sql<{ id: string }[]>`select id from integrations where client_id = ${clientId}`
  await write(row?.id as string, clientId)
  return (await eventsOf(sql, clientId)).slice(1)
}

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
      ['secret', { secrets: { removed: [ID] } }],
      ['rotated', { secrets: { added: [ID] } }],
      ['secret', { secret: ID, expires_at: [null, INSTANT] }],
      ['rotated', { secrets: { added: [ID] } }],
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
    expect(events.map(({ purpose }) => purpose)).toEqual(['Recertification', ...Array(9).fill('Audit')])
  })

  test.each([
    [
      'another digest',
      (sql: Sql, id: string) =>
        sql`update integration_secrets set digest = sha256('own') where integration_id = ${id}`,
      [
        ['secret', { secrets: { removed: [ID] } }],
        ['rotated', { secrets: { added: [ID] } }],
      ],
    ],
    [
      'a second secret that ends',
      (sql: Sql, id: string) =>
        sql`insert into integration_secrets (integration_id, digest, expires_at) values (${id}, sha256('second'), 'infinity')`,
      [['rotated', { secrets: { added: [ID] }, expires_at: [null, 'infinity'] }]],
    ],
    [
      'another client id',
      (sql: Sql, id: string, clientId: string) =>
        sql`update integrations set client_id = ${`Was${clientId}`} where id = ${id}`,
      [['described', { client_id: [expect.any(String), expect.any(String)] }]],
    ],
    [
      'nothing',
      (sql: Sql, id: string) =>
        sql`update integrations set name = name, organization_ids = '{10,10}' where id = ${id}`,
      [],
    ],
    [
      'when a token was last used',
      (sql: Sql, id: string) =>
        sql`update integration_secrets set last_used_at = now() where integration_id = ${id}`,
      [],
    ],
  ] as const)('has the changes by SQL of an operator: %s', async (_, write, expected) => {
    expect(await eventsBy(world.sql, (id, clientId) => write(world.sql, id, clientId).execute())).toEqual(
      expected as never,
    )
  })

  test('has no event for the deletion of an ended secret', async () => {
    const { sql } = world
    const events = await eventsBy(sql, async id => {
      await sql`update integration_secrets set expires_at = now() where integration_id = ${id}`
      await sql`delete from integration_secrets where integration_id = ${id}`
    })
    expect(events).toEqual([['secret', { secret: ID, expires_at: [null, INSTANT] }]])
  })

  test('has the rows of integrations that a truncate deleted', async () => {
    const { sql } = world
    const { clientId } = await provision(sql, ['10'], ['1'])
    await sql`truncate integration_secrets cascade`
    await sql`truncate integrations cascade`
    expect((await eventsOf(sql, clientId)).slice(1)).toEqual([
      ['secret', { secrets: { removed: [ID] } }],
      [
        'deleted',
        { name: [expect.any(String), null], organizations: { removed: [10] }, products: { removed: [1] } },
      ],
    ])
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

test('the history has the name of the login role, even if that role can neither read nor write the history', async () => {
  const database = await openWorld()
  const { clientId } = await provision(database.sql)
  const role = await newRole()
  await database.sql.unsafe(`grant select, update on integrations to ${role.name}`)
  const opened = await openDatabase(role.url(database.url), 1)
  await opened.sql`update integrations set purpose = 'Own' where client_id = ${clientId}`
  for (const statement of [
    'select from integration_history',
    "insert into integration_history (client_id, name, event, changes) select client_id, name, 'scope', '{}' from integrations",
    'select note_found_integrations()',
  ])
    expect(await opened.sql.unsafe(statement).catch(error => error.code)).toBe('42501')
  await opened.close()
  expect((await readHistory(database.sql, clientId)).map(({ role }) => role)).toEqual(['postgres', role.name])
  await database.close()
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
  await opened.sql`update integrations set purpose = 'Own' where client_id = ${clientId}`
  await opened.close()
  const events = await readHistory(database.sql, clientId)
  expect(events.map(({ host }) => host)).toEqual([hostname(), hostname(), null])
  await database.close()
})
