import { afterAll, describe, expect, test } from 'bun:test'
import { axport, cleanUp, errorLine } from '../support/executable.ts'
import { getList, ids, newToken, provision, succeed } from '../support/operator.ts'
import { openTestDatabase } from '../support/service.ts'
import { onTerminal } from '../support/terminal.ts'
import { useIntegrations } from './use-integrations.ts'

const INSTANT = '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ'

afterAll(cleanUp)

describe('while two services run, axport integration', () => {
  const { services, integration, refused, show } = useIntegrations()

  test('create prints the credentials once, and they work immediately on every service', async () => {
    const scope = ['--organizations', ' 11, 10,10,', '--products', 'all']
    const args = ['integration', 'create', " Łódź's «nightly export» 李 \n", ...scope]
    const { code, stdout, stderr } = await axport(args, { env: { DATABASE_URL: services.url } })
    const [, clientId = '', clientSecret = ''] =
      /^client_id {6}(\w{24})\nclient_secret {2}(\w{43})\n$/.exec(stdout) ?? []
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'Keep the secret now: it is not shown again.\n' })
    for (const baseUrl of services.baseUrls) {
      const token = await newToken(baseUrl, { clientId, clientSecret })
      expect(ids(await getList(baseUrl, token))).toEqual([9001, 9002, 9003])
    }
    const report = await integration('show', clientId)
    expect(report).toContain("Łódź's «nightly export» 李\n")
    expect(report).toMatch(/^organizations {2}10 .*\n +11 .*\nproducts/m)
    expect(report).not.toContain(clientSecret)
  })

  test('create does not store the secret in any column of any table', async () => {
    const { client_id, client_secret } = JSON.parse(await integration('create', 'Secretive', '--json'))
    const tables = await services.sql<{ name: string }[]>`
      select format('%I.%I', table_schema, table_name) as name from information_schema.tables
      where table_type = 'BASE TABLE' and table_schema not in ('information_schema', 'pg_catalog')`
    const hits = async (text: string) => {
      const found: string[] = []
      for (const { name } of tables) {
        // Every column of every row as text; bytea is hexadecimal.
        const rows = await services.sql.unsafe(`select from ${name} as t where t::text like $1`, [
          `%${text}%`,
        ])
        if (rows.length > 0) found.push(name)
      }
      return found
    }
    for (const form of ['utf8', 'hex', 'base64'] as const)
      expect(await hits(Buffer.from(client_secret).toString(form))).toEqual([])
    expect((await hits(client_id)).sort()).toEqual(['public.integration_history', 'public.integrations'])
  })

  test('list prints a table of all integrations', async () => {
    const { clientId, name } = await provision(services.sql, ['10', '11'], ['1'])
    const lines = (await integration('list')).split('\n')
    expect(lines[0]).toMatch(/^client id +name +state +organizations +products +live tokens +last used$/)
    expect(lines.find(line => line.startsWith(clientId))).toMatch(
      new RegExp(`^${clientId}  ${name} +enabled +2 +1 +0 +never$`),
    )
  })

  test('rotate prints the new credentials, and on standard error how long the old ones work', async () => {
    const old = await provision(services.sql)
    const run = (...options: string[]) =>
      axport(['integration', 'rotate', old.clientId, ...options], { env: { DATABASE_URL: services.url } })
    const text = await run()
    expect(text.code).toBe(0)
    expect(text.stdout).toMatch(new RegExp(`^client_id {6}${old.clientId}\nclient_secret {2}\\w{43}\n$`))
    expect(text.stderr).toBe(
      'Keep the secret now: it is not shown again.\nThe old secret and its tokens have ended.\n',
    )
    const grace = await run('--grace', '24h', '--json')
    const renewed = JSON.parse(grace.stdout)
    expect(renewed).toEqual({
      client_id: old.clientId,
      client_secret: expect.stringMatching(/^\w{43}$/),
      old_secret_expires_at: expect.stringMatching(new RegExp(`^${INSTANT}$`)),
    })
    expect(grace.stderr).toBe('')
    const [former] = (await show(old.clientId)).secrets
    expect(former.expires_at).toBe(renewed.old_secret_expires_at)

    expect(errorLine(await run('--grace', '24h'), 1)).toBe(
      `a rotation is under way: the older secret works until ${renewed.old_secret_expires_at} (live tokens: 0), ` +
        'and rotating now would end it at once: wait, or repeat with --force',
    )
    const forced = JSON.parse((await run('--force', '--json')).stdout)
    expect(forced.old_secret_expires_at).toBeNull()
    await newToken(services.baseUrls[0], forced)
  })

  test('disable, enable and delete print their effect, and are harmless if repeated', async () => {
    const { clientId, name } = await provision(services.sql)
    const isDisabled = async () =>
      (await services.sql`select disabled_at from integrations where client_id = ${clientId}`)[0]
        ?.disabled_at !== null
    for (const [command, state] of [
      ['disable', 'disabled'],
      ['enable', 'enabled'],
    ] as const) {
      expect(await integration(command, clientId)).toBe(`${clientId} is ${state} now\n`)
      expect(await integration(command, clientId)).toBe(`${clientId} is ${state} already\n`)
      const json = JSON.parse(await integration(command, clientId, '--json'))
      expect(json).toEqual({ client_id: clientId, state, changed: false })
      expect(await isDisabled()).toBe(state === 'disabled')
    }
    const json = JSON.parse(await integration('disable', clientId, '--json'))
    expect(json).toEqual({ client_id: clientId, state: 'disabled', changed: true })
    expect(await integration('delete', clientId, '--yes')).toBe(`deleted ${name} (${clientId})\n`)
    expect(await refused('delete', clientId, '--yes')).toContain(`there is no integration ${clientId}`)
  })
})

describe('axport integration', () => {
  const { services, integration, refused, show } = useIntegrations()

  test('create --json prints one object, and accepts empty sets', async () => {
    const credentials = JSON.parse(await integration('create', 'Empty', '--json'))
    expect(credentials).toEqual({
      client_id: expect.stringMatching(/^\w{24}$/),
      client_secret: expect.stringMatching(/^\w{43}$/),
    })
    expect(await show(credentials.client_id)).toMatchObject({ organizations: [], products: [] })
  })

  test('create makes different credentials for every integration, also for equal names', async () => {
    const twins = await Promise.all([1, 2].map(() => integration('create', 'Twin', '--json')))
    expect(new Set(twins.flatMap(json => Object.values(JSON.parse(json)))).size).toBe(4)
  })

  test.each(['x'.repeat(500), '-n'])('create accepts %s as a name', async name => {
    const { client_id } = JSON.parse(await integration('create', '--json', '--', name))
    const [stored] = await services.sql`select name from integrations where client_id = ${client_id}`
    expect(stored).toEqual({ name })
  })

  test('show prints everything known about an integration', async () => {
    const { clientId, name, ...secret } = await provision(services.sql, ['10', '11'], ['1'])
    await newToken(services.baseUrls[0], { clientId, ...secret })
    await services.sql`update integration_secrets set last_used_at = '2026-01-02 03:04:05Z'`
    expect(await integration('show', clientId)).toMatch(
      new RegExp(
        `^name           ${name}\n` +
          `client id      ${clientId}\n` +
          'state          enabled\n' +
          `created        ${INSTANT}\n` +
          'last used      2026-01-02T03:04:05Z\n' +
          'live tokens    1\n' +
          `secrets        made ${INSTANT}, 1 live token, last used 2026-01-02T03:04:05Z\n` +
          'organizations  10  Lakeside District\n' +
          '               11  Oak Valley\n' +
          'products       1  Reading Observation\n' +
          'assessments    2 in scope\n' +
          'requests get   200\n$',
      ),
    )
  })

  test('show marks ids without data, and lists every reason for a 400 or 401', async () => {
    const { clientId } = await provision(services.sql, ['10'], [])
    await services.sql`
      update integrations set organization_ids = '{10, 99}', disabled_at = '2026-01-02 03:04:05Z'
      where client_id = ${clientId}`
    const lines = (await integration('show', clientId)).split('\n')
    expect(lines.slice(2, 3).concat(lines.slice(-8))).toEqual([
      'state          disabled since 2026-01-02T03:04:05Z',
      expect.stringMatching(/^secrets {8}made /),
      'organizations  10  Lakeside District',
      '               99  (not in the data)',
      'products       none',
      'assessments    0 in scope',
      `requests get   401: it is disabled since 2026-01-02T03:04:05Z; axport integration enable ${clientId}`,
      `               400: it has no products; axport integration scope ${clientId} --products …`,
      '',
    ])
  })

  test('list, show, delete and doctor print control characters in names as escapes, and JSON has them unchanged', async () => {
    const odd = 'Red\x1b[31m\x9b2J\nnext\u2028line\u202eesrever'
    const escapes = 'Red\\u{1b}[31m\\u{9b}2J\\u{a}next\\u{2028}line\\u{202e}esrever'
    await services.sql`insert into organizations values (66, ${odd})`
    const { clientId } = await provision(services.sql, 'all', ['1'])
    await services.sql`update integrations set name = ${odd} where client_id = ${clientId}`
    expect(await show(clientId)).toMatchObject({ name: odd })
    const shown = await integration('show', clientId)
    expect(shown).toStartWith(`name           ${escapes}\n`)
    expect(shown).toContain(`               66  ${escapes}\n`)
    await services.sql`update integrations set organization_ids = '{}' where client_id = ${clientId}`
    const doctor = (await axport(['doctor'], { env: { DATABASE_URL: services.url } })).stdout
    for (const text of [
      shown,
      await integration('list'),
      doctor,
      await integration('delete', clientId, '--yes'),
    ]) {
      expect(text).toContain(escapes)
      expect(text).not.toMatch(/[^\P{Cc}\n]|[\u2028\u202e]/u)
    }
    await services.sql`delete from organizations where id = 66`
  })

  test('scope prints both resulting sets, as text and as JSON', async () => {
    const { clientId } = await provision(services.sql, ['10'], ['1'])
    expect(await integration('scope', clientId, '--add-organizations', '11,12', '--products', '2,1')).toBe(
      'organizations  3 (2 added, 0 removed)\nproducts       2 (1 added, 0 removed)\n',
    )
    const removal = ['--remove-organizations', '10,99', '--remove-products', '2']
    const options = ['--organizations', 'all', ...removal, '--json']
    expect(JSON.parse(await integration('scope', clientId, ...options))).toEqual({
      organizations: { ids: [11, 12], added: 0, removed: 1, meant_as_all: false },
      products: { ids: [1], added: 0, removed: 1, meant_as_all: false },
    })
  })

  test('show lists ids loaded since a set was given as "all", and scope --add-new adds them', async () => {
    const { clientId } = await provision(services.sql, 'all', 'all')
    const [meant] = /^meant as all.*\n.*\n/m.exec(await integration('show', clientId)) ?? []
    expect(meant).toBe(
      'meant as all   organizations: none loaded since\n               products: none loaded since\n',
    )
    await services.sql`insert into organizations values (13, 'Hillside'), (14, 'Westfield')`
    expect(await integration('show', clientId)).toContain(
      `meant as all   organizations: 2 loaded since, not in the scope: axport integration scope ${clientId} --add-new\n` +
        '               13  Hillside\n               14  Westfield\n               products: none loaded since\n',
    )
    expect(await show(clientId)).toMatchObject({
      meant_as_all: ['organizations', 'products'],
      come_since: { organizations: [{ id: 13, name: 'Hillside' }, { id: 14 }], products: [] },
    })
    expect(await integration('scope', clientId, '--add-new')).toBe(
      'organizations  5 (2 added, 0 removed), meant as all\nproducts       3 (0 added, 0 removed), meant as all\n',
    )
    await integration('scope', clientId, '--organizations', '10', '--products', '1')
    expect(await integration('show', clientId)).not.toContain('meant as all')
    expect(await refused('scope', clientId, '--add-new')).toBe(
      `no set of ${clientId} was given as all: use --organizations all or --products all`,
    )
    await services.sql`delete from organizations where id in (13, 14)`
  })

  test('reads and prints ids exactly up to the largest bigint', async () => {
    const [odd, last] = ['9007199254740993', '9223372036854775807']
    await services.sql`insert into organizations (id, name) values (${odd}, 'Odd'), (${last}, 'Last')`
    const { clientId } = await provision(services.sql, [], ['1'])
    const changed = await integration('scope', clientId, '--organizations', `${last},${odd}`, '--json')
    expect(changed).toStartWith(`{"organizations":{"ids":[${odd},${last}],`)
    expect(await integration('show', clientId, '--json')).toContain(
      `"organizations":[{"id":${odd},"name":"Odd"},{"id":${last},"name":"Last"}]`,
    )
    await services.sql`delete from organizations where id in (${odd}, ${last})`
  })

  test('delete asks for the client id on a terminal, and needs --yes elsewhere', async () => {
    const { clientId, name } = await provision(services.sql)
    const env = { DATABASE_URL: services.url }
    const args = ['integration', 'delete', clientId]
    expect(errorLine(await axport(args, { env }), 2)).toBe(
      `there is no terminal to confirm on: axport integration delete ${clientId} --yes`,
    )
    const asks = 'Type its client id again: '
    const wrong = await onTerminal(args, env, asks, 'yes')
    expect(wrong).toEqual({
      code: 1,
      shown: expect.stringMatching(
        new RegExp(
          `^${name} is deleted for good with its secrets .*\\n${asks}yes\naxport: that is another client id: nothing was deleted\n$`,
        ),
      ),
    })
    expect((await show(clientId)).state).toBe('enabled')
    const right = await onTerminal(args, env, asks, clientId)
    expect(right).toEqual({ code: 0, shown: expect.stringContaining(`deleted ${name} (${clientId})\n`) })
  })

  test('refuses an unknown integration or organization and names it', async () => {
    const all = () => services.sql`select * from integrations order by id`
    const before = await all()
    const nobody = 'there is no integration Nobody1: axport integration list shows those there are'
    const commands = [['show'], ['scope', '--products', 'all'], ['rotate'], ['disable'], ['enable']]
    for (const [command = '', ...options] of commands)
      expect(await refused(command, 'Nobody1', ...options)).toBe(nobody)
    const unknown = 'there are no organizations with these ids: 98, 99'
    expect(await refused('create', 'X', '--organizations', '10,99,11,98')).toBe(unknown)
    expect(await all()).toEqual(before)
  })
})

test('axport integration list says that there is no integration yet and how to create one; with --json it prints []', async () => {
  const { url, close } = await openTestDatabase()
  expect(await succeed(url, 'integration', 'list')).toBe(
    'There are no integrations yet: axport integration create NAME makes one.\n',
  )
  expect(await succeed(url, 'integration', 'list', '--json')).toBe('[]\n')
  await close()
})
