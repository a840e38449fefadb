import { afterAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createIntegration, rotateSecret, undoRotation } from '../../src/integrations/credentials.ts'
import { readHistory } from '../../src/integrations/history.ts'
import { emptyDatabase } from '../support/cluster.ts'
import { cleanUp, emptyFolder, errorLine, shell } from '../support/executable.ts'
import { ndjsonOf, organization } from '../support/fixtures.ts'
import { getList, newToken, provision, requestToken, useTwoServices } from '../support/operator.ts'

afterAll(cleanUp)
const services = useTwoServices()
const cwd = () => emptyFolder()

/** The ways in which standard output cannot be written: what makes them of a command, and the reason in its error. */
const WAYS: [name: string, line: (command: string) => string, reason: string][] = [
  ['goes to a full disk', command => `${command} >/dev/full`, 'no space is left'],
  ['is closed', command => `${command} >&-`, 'it is closed'],
  [
    'is a pipe that its reader has closed',
    command =>
      `mkfifo go; { read -r _ <go; ${command}; echo $? >code; } | { exec <&-; echo >go; }; exit $(cat code)`,
    'its reader has closed it',
  ],
]
const [FULL] = WAYS as [(typeof WAYS)[number]]

/** The error of a command whose standard output cannot be written. */
async function unprinted(
  [, line, reason]: (typeof WAYS)[number],
  args: string,
  { env = { DATABASE_URL: services.url } as Record<string, string>, folder = cwd() } = {},
): Promise<string> {
  const run = await shell(line(`"$AXPORT" ${args}`), { env, cwd: folder })
  const error = errorLine({ ...run, stderr: run.stderr.replaceAll(/^(?!axport: ).*\n/gm, '') }, 1)
  expect(error).toContain(`standard output cannot be written: ${reason}`)
  return error
}

const secretsOf = (clientId: string) => services.sql`
  select s.* from integration_secrets s join integrations i on i.id = s.integration_id
  where i.client_id = ${clientId} order by s.id`

describe.each(WAYS)('if standard output %s,', (...way) => {
  const [, , reason] = way

  test('axport integration create leaves no integration behind', async () => {
    const name = crypto.randomUUID()
    expect(await unprinted(way, `integration create ${name} --json`)).toBe(
      `standard output cannot be written: ${reason}: the integration was deleted again, because nobody has the secret`,
    )
    expect(await services.sql`select from integrations where name = ${name}`).toBeEmpty()
    const events = await services.sql`select event from integration_history where name = ${name} order by id`
    expect(events.map(({ event }) => event)).toEqual(['created', 'deleted'])
  })

  test('axport integration list says so', async () => {
    expect(await unprinted(way, 'integration list')).toBe(`standard output cannot be written: ${reason}`)
  })
})

describe('if standard output cannot be written,', () => {
  const done = async (args: string, options?: Parameters<typeof unprinted>[2]) =>
    (await unprinted(FULL, args, options)).replace(
      /, but standard output cannot be written: no space is left$/,
      '',
    )

  test('axport integration rotate leaves the old secret and its tokens valid', async () => {
    const integration = await provision(services.sql)
    const [baseUrl = ''] = services.baseUrls
    const token = await newToken(baseUrl, integration)
    const before = await secretsOf(integration.clientId)
    for (const options of ['', ' --json', ' --grace 1h']) {
      expect(await unprinted(FULL, `integration rotate ${integration.clientId}${options}`)).toBe(
        `standard output cannot be written: no space is left: the secrets are as they were before, because nobody has the secret`,
      )
      expect(await secretsOf(integration.clientId)).toEqual(before)
    }
    expect((await getList(baseUrl, token)).status).toBe(200)
    expect((await requestToken(baseUrl, integration)).status).toBe(200)
    const old = Number(before[0]?.id)
    const changes = (await readHistory(services.sql, integration.clientId)).map(event => [
      event.event,
      event.changes,
    ])
    const fresh = expect.any(Number)
    const taken = ['undone', { secrets: { added: [old], removed: [fresh] } }]
    expect(changes.slice(1)).toEqual([
      ['rotated', { secrets: { added: [fresh], removed: [old] } }],
      taken,
      ['rotated', { secrets: { added: [fresh], removed: [old] } }],
      taken,
      ['rotated', { secrets: { added: [fresh] }, old_secret_expires_at: [null, expect.any(String)] }],
      ['undone', { secrets: { removed: [fresh] }, old_secret_expires_at: [expect.any(String), null] }],
    ])
  })

  test('axport integration disable says that the integration was disabled', async () => {
    const { clientId } = await provision(services.sql)
    expect(await unprinted(FULL, `integration disable ${clientId}`)).toBe(
      `the integration was disabled, but standard output cannot be written: no space is left`,
    )
    const [row] = await services.sql`select disabled_at from integrations where client_id = ${clientId}`
    expect(row?.disabled_at).not.toBeNull()
  })

  test('the other commands that change something say what they have done', async () => {
    const { clientId } = await provision(services.sql)
    const folder = cwd()
    writeFileSync(join(folder, 'file.ndjson'), ndjsonOf([organization(13, 'Hillside')]))
    for (const [args, what] of [
      [`integration describe ${clientId} --purpose Renewal`, 'the integration was changed'],
      [`integration scope ${clientId} --products 1 --json`, 'the integration was changed'],
      [`integration enable ${clientId}`, 'the integration is already enabled'],
      [`integration delete ${clientId} --yes`, 'the integration was deleted'],
      ['import file.ndjson', 'all was loaded'],
      ['import file.ndjson --json', 'all was loaded'],
      ['refresh', 'all was refreshed'],
      ['erase 4711 --yes', 'user 4711 was erased'],
      ['erase 4711 --remove-tombstone --json', 'the tombstone of user 4711 was removed'],
      ['erase 4711 --remove-tombstone', 'user 4711 has no tombstone: nothing was changed'],
    ] as const)
      expect([args, await done(args, { folder })]).toEqual([args, what])
    expect(await services.sql`select from organizations where id = 13`).toHaveLength(1)
  })

  test('a dry run says nothing of a change', async () => {
    expect(await unprinted(FULL, 'erase 501 --dry-run')).toBe(
      'standard output cannot be written: no space is left',
    )
    const folder = cwd()
    writeFileSync(join(folder, 'file.ndjson'), ndjsonOf([organization(14, 'Not there')]))
    expect(await unprinted(FULL, 'import --dry-run file.ndjson', { folder })).toBe(
      'standard output cannot be written: no space is left',
    )
  })

  test('an import that fails says why it failed', async () => {
    const folder = cwd()
    writeFileSync(join(folder, 'file.ndjson'), 'no JSON\n')
    const line = '"$AXPORT" import file.ndjson --json >/dev/full'
    const { code, stderr } = await shell(line, { env: { DATABASE_URL: services.url }, cwd: folder })
    expect(code).toBe(1)
    expect(stderr).toMatch(/^line 1: .*\naxport: nothing was loaded: 1 bad line of 1, /)
  })

  test('axport migrate takes all steps, and says what was done', async () => {
    const { url, drop } = await emptyDatabase()
    const env = { DATABASE_URL: url }
    const args = 'migrate --time-zone Europe/Berlin --disclosures on'
    expect(await done(args, { env })).toMatch(
      /^applied 0001_source_data, .*; the time zone is now Europe\/Berlin; disclosures are now on, /,
    )
    expect(await done(`${args} --json`, { env })).toMatch(
      /^the schema is up to date; the time zone is Europe\/Berlin already; disclosures are on, .* already$/,
    )
    await drop()
  })

  test('axport pull says that it has written its file', async () => {
    const { clientId, clientSecret } = await provision(services.sql)
    const args = `pull --base-url ${services.baseUrls[0]} --client-id ${clientId} --out file.ndjson`
    expect(await done(args, { env: { AXPORT_CLIENT_SECRET: clientSecret } })).toBe(
      'wrote 3 assessments to file.ndjson',
    )
  })

  test('axport integration create says how to delete the integration, where it was not deleted again', async () => {
    await services.sql.unsafe(`
      create function refuse() returns trigger language plpgsql as $$ begin raise 'not now'; end $$;
      create trigger refuse before delete on integrations for each row execute function refuse()`)
    const line = await unprinted(FULL, 'integration create Kept').finally(
      () => services.sql`drop function refuse cascade`,
    )
    const [row] = await services.sql`select client_id from integrations where name = 'Kept'`
    expect(line).toBe(
      'the integration was created, but standard output cannot be written: no space is left, nobody has the secret, ' +
        `and that was not undone (not now): axport integration delete ${row?.client_id}`,
    )
  })
})

test('a rotation is not undone if there was another one since', async () => {
  for (const options of [{}, { graceSeconds: 60 }]) {
    const { clientId } = await createIntegration(services.sql, 'Twice', [], [])
    const first = await rotateSecret(services.sql, clientId, {})
    await rotateSecret(services.sql, clientId, options)
    const secrets = await secretsOf(clientId)
    await expect(undoRotation(services.sql, first)).rejects.toThrow(
      `the secret of ${clientId} was replaced again meanwhile`,
    )
    expect(await secretsOf(clientId)).toEqual(secrets)
  }
})
