import { expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { axport, errorLine, shell, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { succeed } from '../support/operator.ts'
import { program, requires } from '../support/requires.ts'
import { useRoles } from '../support/roles.ts'
import { useServedWorld } from '../support/served.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

const world = useServedWorld()
const newRole = useRoles()

/** `serve --check` with these settings besides the port of a running service. */
const check = (env: Record<string, string>) => axport(['serve', '--check'], { env: { ...world.env, ...env } })

test('serve --check says that serve can start, beside a service on the same port, and with a role that can serve', async () => {
  const running = await world.serve([], { ADMIN_PORT: '0' })
  const ports = { PORT: new URL(running.url).port, ADMIN_PORT: new URL(running.admin).port }
  const role = await newRole()
  await succeed(world.env.DATABASE_URL as string, 'migrate', '--grant', role.name)
  for (const DATABASE_URL of [world.env.DATABASE_URL as string, role.url(world.env.DATABASE_URL as string)])
    expect(await check({ ...ports, DATABASE_URL })).toEqual({
      code: 0,
      stdout: 'serve can start: settings, database, schema and privileges are as it needs them\n',
      stderr: '',
    })
  await running.end()
})

test('serve --check names what serve would refuse, in one line', async () => {
  const role = await newRole()
  const cases: [Record<string, string>, RegExp][] = [
    [{ PORT: 'x', LOG_LEVEL: 'loud' }, /^PORT must be .*; LOG_LEVEL must be /],
    [{ DATABASE_URL: '' }, /^DATABASE_URL is not set/],
    [{ TLS_CERT_FILE: '/x' }, /^TLS_KEY_FILE is not set/],
    [{ HOST: 'host.invalid' }, /^host\.invalid is not an address of this machine: set HOST/],
    [{ ADMIN_PORT: '0', ADMIN_HOST: '192.0.2.1' }, /^192\.0\.2\.1 is not .*: set ADMIN_HOST/],
    [{ DATABASE_URL: 'postgres://127.0.0.1:1/x' }, /nothing listens there/],
    [
      { DATABASE_URL: role.url(world.env.DATABASE_URL as string) },
      /^privileges: \w+ lacks select on schema_migrations, .*: run axport migrate --grant \w+ as the owner of the tables$/,
    ],
  ]
  for (const [env, message] of cases) expect(errorLine(await check(env), 1)).toMatch(message)
})

test('serve --check refuses a session that fires no triggers, as serve does', async () => {
  const [{ name }] = await world.sql<[{ name: string }]>`select current_database() as name`
  await world.sql`alter database ${world.sql(name)} set session_replication_role = replica`
  const line = errorLine(await check({}), 1)
  const served = errorLine(await axport(['serve'], { env: { ...world.env, PORT: '0' } }), 1)
  await world.sql`alter database ${world.sql(name)} reset session_replication_role`
  expect(line).toMatch(/^triggers: this session has session_replication_role = replica \(from: database\)/)
  expect(served).toMatch(/^the service does not start: with session_replication_role = replica/)
})

const LOW_PORTS = '/proc/sys/net/ipv4/ip_unprivileged_port_start'
const lowPorts = existsSync(LOW_PORTS) ? Number(readFileSync(LOW_PORTS, 'utf8')) : 0
const isRoot = process.getuid?.() === 0
requires(program('setpriv', 'util-linux'), {
  name: 'a port that only root may listen on (net.ipv4.ip_unprivileged_port_start above 1)',
  isHere: lowPorts > 1,
}).test('serve --check names a port that may not be listened on', async () => {
  const port = String(lowPorts - 1)
  // Root, too, has no such right without this capability.
  const asOthers = isRoot ? 'setpriv --bounding-set=-net_bind_service --inh-caps=-net_bind_service' : ''
  const command = `exec ${asOthers} "$AXPORT" serve --check`
  const check = (env: Record<string, string>) => shell(command, { env: { ...world.env, ...env } })
  expect(errorLine(await check({ PORT: port }), 1)).toBe(
    `port ${port} on 127.0.0.1 is not permitted: set PORT to one above 1023`,
  )
  expect(errorLine(await check({ ADMIN_PORT: port }), 1)).toMatch(/: set ADMIN_PORT to one above 1023$/)
  expect((await check({ PORT: '0' })).code).toBe(0)
})
