import { afterAll, describe, expect, test } from 'bun:test'
import { embeddedWorld } from './support/embedded-world.ts'
import { axport, cleanUp, complaint, emptyFolder } from './support/executable.ts'
import {
  getList,
  ids,
  newToken,
  provision,
  refusal,
  requestToken,
  succeed,
  useTwoServices,
  WORLD,
} from './support/operator.ts'
import { BACKENDS } from './support/service.ts'

const INSTANT = '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ'

afterAll(cleanUp)

describe.each([...BACKENDS])('while two services run, on %s, axport integration', backend => {
  const services = useTwoServices(backend)
  const integration = (...args: string[]) => succeed(services.url, 'integration', ...args)
  const refused = (...args: string[]) => refusal(services.url, 'integration', ...args)
  const show = async (id: string) => JSON.parse(await integration('show', id, '--json'))

  test('list says that there are none yet and how to make one; as JSON it is an empty array', async () => {
    const [text, json] = await Promise.all([integration('list'), integration('list', '--json')])
    expect(text).toBe('There are no integrations yet: axport integration create NAME makes one.\n')
    expect(json).toBe('[]\n')
  })

  test('create prints the credentials once, and they work at once on every service', async () => {
    const args = [
      'integration',
      'create',
      ' Lakeside nightly export ',
      '--organizations',
      ' 11, 10,10',
      '--products',
      'all',
    ]
    const { code, stdout, stderr } = await axport(args, { env: { DATABASE_URL: services.url } })
    const [, clientId = '', clientSecret = ''] =
      /^client_id {6}(\w{24})\nclient_secret {2}(\w{43})\n$/.exec(stdout) ?? []
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'Keep the secret now: it is not shown again.\n' })
    for (const baseUrl of services.baseUrls) {
      const token = await newToken(baseUrl, { clientId, clientSecret })
      expect(ids(await getList(baseUrl, token))).toEqual([9001, 9002, 9003])
    }
    const report = await integration('show', clientId)
    expect(report).toContain('Lakeside nightly export\n')
    expect(report).not.toContain(clientSecret)
  })

  test('create --json prints one object, and takes empty sets', async () => {
    const credentials = JSON.parse(await integration('create', 'Empty', '--json'))
    expect(credentials).toEqual({
      client_id: expect.stringMatching(/^\w{24}$/),
      client_secret: expect.stringMatching(/^\w{43}$/),
    })
    expect(await show(credentials.client_id)).toMatchObject({ organizations: [], products: [] })
  })

  test('list prints a table of all, or an array of objects', async () => {
    const { clientId, name } = await provision(services.sql, ['10', '11'], ['1'])
    const [table, json] = await Promise.all([integration('list'), integration('list', '--json')])
    const lines = table.split('\n')
    expect(lines[0]).toMatch(/^client id +name +state +organizations +products +live tokens +last used$/)
    expect(lines.find(line => line.startsWith(clientId))).toMatch(
      new RegExp(`^${clientId}  ${name} +enabled +2 +1 +0 +never$`),
    )
    expect(JSON.parse(json).at(-1)).toMatchObject({
      client_id: clientId,
      name,
      organizations: 2,
      products: 1,
    })
  })

  test('show prints all there is to know, a line or more each', async () => {
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

  test('show says what is not in the data, and every reason why nothing is answered', async () => {
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

  test('scope says how both sets look now, and the services answer accordingly', async () => {
    const credentials = await provision(services.sql, ['10'], ['1'])
    const { clientId } = credentials
    const token = await newToken(services.baseUrls[0], credentials)
    expect(await integration('scope', clientId, '--add-organizations', '11,12', '--products', '2,1')).toBe(
      'organizations  3 (2 added, 0 removed)\nproducts       2 (1 added, 0 removed)\n',
    )
    for (const baseUrl of services.baseUrls) {
      expect(ids(await getList(baseUrl, token))).toEqual([9001, 9002, 9003])
    }
    const options = [
      '--organizations',
      'all',
      '--remove-organizations',
      '10,99',
      '--remove-products',
      '2',
      '--json',
    ]
    expect(JSON.parse(await integration('scope', clientId, ...options))).toEqual({
      organizations: { ids: [11, 12], added: 0, removed: 1 },
      products: { ids: [1], added: 0, removed: 1 },
    })
    for (const baseUrl of services.baseUrls) expect(ids(await getList(baseUrl, token))).toEqual([9002])
  })

  test('takes and prints ids to the end of bigint, as they are', async () => {
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

  test('rotate prints the new credentials, and says on standard error what becomes of the old', async () => {
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
      old_secret_ends_at: expect.stringMatching(new RegExp(`^${INSTANT}$`)),
    })
    expect(grace.stderr).toBe('')
    const [former] = (await show(old.clientId)).secrets
    expect(former.ends_at).toBe(renewed.old_secret_ends_at)

    expect(complaint(await run('--grace', '24h'), 1)).toBe(
      `a rotation is under way: the older secret works until ${renewed.old_secret_ends_at} and has 0 live tokens; ` +
        'rotating now would end that secret and its tokens at once: wait, or repeat with --force',
    )
    const forced = JSON.parse((await run('--force', '--json')).stdout)
    expect(forced.old_secret_ends_at).toBeNull()
    for (const baseUrl of services.baseUrls) {
      const credentials = { clientId: old.clientId, clientSecret: renewed.client_secret }
      expect(await requestToken(baseUrl, credentials)).toMatchObject({ status: 401 })
      await newToken(baseUrl, { ...credentials, clientSecret: forced.client_secret })
    }
  })

  test('disable, enable and delete say what they did, and to repeat them is harmless', async () => {
    const credentials = await provision(services.sql)
    const { clientId, name } = credentials
    const token = await newToken(services.baseUrls[0], credentials)
    const statuses = () =>
      Promise.all(services.baseUrls.map(async baseUrl => (await getList(baseUrl, token)).status))
    expect(await integration('disable', clientId)).toBe(`${clientId} is disabled now\n`)
    expect(await integration('disable', clientId)).toBe(`${clientId} is disabled already\n`)
    expect(await statuses()).toEqual([401, 401])
    expect(await integration('enable', clientId)).toBe(`${clientId} is enabled now\n`)
    expect(await integration('enable', clientId)).toBe(`${clientId} is enabled already\n`)
    expect(await statuses()).toEqual([200, 200])
    expect(await integration('delete', clientId)).toBe(`deleted ${name} (${clientId})\n`)
    expect(await statuses()).toEqual([401, 401])
    expect(await refused('delete', clientId)).toContain(`there is no integration ${clientId}`)
  })

  test('names an integration, an organization or a product that there is none of', async () => {
    const { clientId } = await provision(services.sql)
    const [before] = await services.sql`select * from integrations where client_id = ${clientId}`
    const nobody = 'there is no integration Nobody1: axport integration list shows those there are'
    const attempts: [string[], string][] = [
      [['show', 'Nobody1'], nobody],
      [['scope', 'Nobody1', '--products', 'all'], nobody],
      [['rotate', 'Nobody1'], nobody],
      [['disable', 'Nobody1'], nobody],
      [['enable', 'Nobody1'], nobody],
      [['create', 'X', '--organizations', '10,98,99'], 'there are no organizations with these ids: 98, 99'],
      [['scope', clientId, '--add-products', '97,1'], 'there are no products with these ids: 97'],
    ]
    for (const [args, line] of attempts) expect(await refused(...args)).toBe(line)
    expect((await services.sql`select * from integrations where client_id = ${clientId}`)[0]).toEqual(before)
  })
})

test('while nobody serves the embedded database, every command opens it and lets go of it again', async () => {
  const url = `embedded:${await embeddedWorld(WORLD)}`
  const created = JSON.parse(
    await succeed(url, 'integration', 'create', 'Alone', '--products', 'all', '--json'),
  )
  const id = created.client_id as string
  await succeed(url, 'integration', 'scope', id, '--organizations', '10')
  const rotated = JSON.parse(await succeed(url, 'integration', 'rotate', id, '--grace', '1d', '--json'))
  expect(rotated).toMatchObject({ client_id: id, old_secret_ends_at: expect.any(String) })
  expect(await succeed(url, 'integration', 'show', id)).toEndWith('2 in scope\nrequests get   200\n')
  await succeed(url, 'integration', 'delete', id)
  expect(await succeed(url, 'integration', 'list', '--json')).toBe('[]\n')
})

describe('axport integration without a database', () => {
  /** Why a call is wrong, which is found before any database is looked for. */
  const misuse = async (...args: string[]) => complaint(await axport(['integration', ...args]), 2)

  test('refuses a grace that is no duration, and says what one looks like', async () => {
    const wrong = [
      '',
      '24',
      'h',
      '24 h',
      '24H',
      '1.5h',
      '-1h',
      '+1h',
      '1h30m',
      'P1D',
      '0h',
      '0s',
      '91d',
      '7776001s',
      '12345678s',
      'tomorrow',
    ]
    const lines = await Promise.all(wrong.map(grace => misuse('rotate', 'x', `--grace=${grace}`)))
    for (const line of lines) expect(line).toEndWith('Give a duration as 30m, 24h or 7d, at most 90d.')
  })

  test('takes a grace in seconds, minutes, hours and days, up to 90 days', async () => {
    const right = ['1s', '90s', '30m', '24h', '7d', '90d', '2160h', '7776000s', ' 24h ', '007d']
    const folder = emptyFolder()
    for (const [index, grace] of right.entries()) {
      // The next thing that is wrong is the database.
      const env = { DATABASE_URL_FILE: `${folder}/${index}` }
      const line = complaint(await axport(['integration', 'rotate', 'x', `--grace=${grace}`], { env }), 1)
      expect(line).toStartWith('DATABASE_URL_FILE names ')
    }
  })

  test('refuses ids that are none, and names the first of them', async () => {
    for (const [given, named] of [
      ['1,x', 'x'],
      ['1.5', '1.5'],
      ['-1', '-1'],
      ['1;2', '1;2'],
      ['ALL', 'ALL'],
      ['1,all', 'all'],
      ['9223372036854775808', '9223372036854775808'],
    ]) {
      expect(await misuse('create', 'X', `--organizations=${given}`)).toContain(`"${named}" is not an id`)
    }
  })

  test('refuses a blank name, a name that is too long, a scope without a change, and what is too much', async () => {
    expect(await misuse('create', ' \t ')).toBe('the name of an integration must not be blank')
    expect(await misuse('create', 'n'.repeat(501))).toContain('500 characters at most')
    for (const name of ['two\nlines', 'a tab\there', '\x1b[31mred', 'two\u2028lines']) {
      expect(await misuse('create', name)).toContain('control characters')
    }
    expect(await misuse('create')).toContain("missing required argument 'name'")
    expect(await misuse('scope', 'x')).toContain('say what to change: axport integration scope --help')
    expect(await misuse('rotate', 'x', 'y')).toContain('too many arguments')
    expect(await misuse('rotate', 'x', '--grace')).toContain("option '--grace <duration>' argument missing")
    expect(await misuse('list', '--all')).toContain("unknown option '--all'")
    expect(await misuse('remove', 'x')).toContain("unknown command 'remove'")
  })
})
