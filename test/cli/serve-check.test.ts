import { expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DescribedSetting } from '../../src/config.ts'
import { axport, emptyFolder, errorLine, shell, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { freePort } from '../support/free-port.ts'
import { succeed } from '../support/operator.ts'
import { program, requires } from '../support/requires.ts'
import { useRoles } from '../support/roles.ts'
import { serveWith, useServedWorld } from '../support/served.ts'

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
      stdout: 'serve can start: settings, database (postgres), schema and privileges are as it needs them\n',
      stderr: '',
    })
  await running.end()
})

test('serve --check names what serve would refuse, and makes nothing', async () => {
  const role = await newRole()
  const folder = join(emptyFolder(), 'data')
  const cases: [Record<string, string>, RegExp][] = [
    [{ PORT: 'x', LOG_LEVEL: 'loud' }, /^PORT must be .*; LOG_LEVEL must be /],
    [{ DATABASE_URL: '' }, /^DATABASE_URL is not set/],
    [{ TLS_CERT_FILE: '/x' }, /^TLS_KEY_FILE is not set/],
    [{ HOST: 'host.invalid' }, /^host\.invalid is not an address of this machine: set AXPORT_HOST/],
    [{ ADMIN_PORT: '0', ADMIN_HOST: '192.0.2.1' }, /^192\.0\.2\.1 is not .*: set ADMIN_HOST/],
    [{ DATABASE_URL: 'postgres://127.0.0.1:1/x' }, /nothing listens there/],
    [{ DATABASE_URL: `embedded:${folder}` }, /holds no database/],
    [
      { DATABASE_URL: role.url(world.env.DATABASE_URL as string) },
      /permission denied .*; a role that serves gets its privileges by axport migrate --grant ROLE$/,
    ],
  ]
  for (const [env, message] of cases) expect(errorLine(await check(env), 1)).toMatch(message)
  expect(existsSync(folder)).toBe(false)
})

test('serve --check reads the settings of --env-file, which serve itself does not take', async () => {
  const file = join(emptyFolder(), 'serve.env')
  writeFileSync(file, `DATABASE_URL=${world.env.DATABASE_URL}\nLOG_LEVEL=loud\n`)
  const args = (...more: string[]) => ['serve', ...more, '--env-file', file]
  expect(errorLine(await axport(args('--check')), 1)).toMatch(/^LOG_LEVEL must be/)
  writeFileSync(file, `DATABASE_URL=${world.env.DATABASE_URL}\n`)
  expect(await axport(args('--check'))).toMatchObject({ code: 0, stderr: '' })
  expect(errorLine(await axport(args()), 2)).toMatch(/^--env-file is for --check/)
})

/** What the shipped unit sets for its instance 0, with the variables of systemd that a service gets besides. */
function environmentOfUnit(credentials: string): Record<string, string> {
  const unit = join(import.meta.dir, '..', '..', 'docs', 'operate', 'systemd', 'axport-serve@.service')
  const lines = readFileSync(unit, 'utf8').matchAll(/^Environment=(\w+)=(.*)$/gm)
  const value = (text: string) => text.replaceAll('%i', '0').replaceAll('%d', credentials)
  return {
    ...{ LANG: 'C.UTF-8', CREDENTIALS_DIRECTORY: credentials, INVOCATION_ID: '0'.repeat(32) },
    ...Object.fromEntries([...lines].map(([, name = '', text = '']) => [name, value(text)])),
  }
}

test('config, doctor and serve --check read the settings of the shipped unit from its process and its file', async () => {
  const folder = emptyFolder()
  const role = await newRole()
  await succeed(world.env.DATABASE_URL as string, 'migrate', '--grant', role.name)
  writeFileSync(join(folder, 'database-url'), `${role.url(world.env.DATABASE_URL as string)}\n`)
  // Other ports than the unit's: those may be in use here. systemd lets a file win over the lines of the unit.
  const [port, adminPort] = [await freePort(), await freePort()]
  const ports = { PORT: String(port), ADMIN_PORT: String(adminPort) }
  const given = { ...environmentOfUnit(folder), ...ports }
  expect(Object.keys(given)).toContain('DATABASE_URL_FILE')
  const running = await serveWith([], given)
  const edited = join(folder, 'serve.env')
  writeFileSync(edited, '# edited\nSHUTDOWN_DELAY=9\n')
  const files = ['--env-file', `/proc/${running.pid}/environ`, '--env-file', edited]
  // A shell with other settings, as that of an operator.
  const ask = (...args: string[]) => axport([...args, ...files], { env: { DATABASE_URL: 'x', PORT: 'x' } })

  const config = await ask('config', '--json')
  expect(config).toMatchObject({ code: 0, stderr: '' })
  const shown = (JSON.parse(config.stdout) as DescribedSetting[]).filter(({ source }) => source === 'file')
  expect(Object.fromEntries(shown.map(({ name, value }) => [name, value]))).toEqual({
    DATABASE_URL_FILE: join(folder, 'database-url'),
    DATABASE_POOL_SIZE: '5',
    SHUTDOWN_DELAY: '9',
    ...ports,
  })
  const doctor = await ask('doctor')
  expect(doctor).toMatchObject({ code: 0, stderr: '' })
  expect(doctor.stdout).toMatch(/^settings +ok +readable\ndatabase +ok +reached \(postgres\)$/m)
  expect(await ask('serve', '--check')).toMatchObject({ code: 0, stderr: '' })
  writeFileSync(edited, 'SHUTDOWN_DELAY=soon\n')
  for (const command of [['config'], ['doctor', '--json'], ['serve', '--check']])
    expect([command, await ask(...command)]).toEqual([command, expect.objectContaining({ code: 1 })])
  await running.end()
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
    `port ${port} on 127.0.0.1 is not permitted: set AXPORT_PORT to one above 1023`,
  )
  expect(errorLine(await check({ ADMIN_PORT: port }), 1)).toMatch(/: set ADMIN_PORT to one above 1023$/)
  expect((await check({ PORT: '0' })).code).toBe(0)
})

test('AXPORT_HOST and AXPORT_PORT win over HOST and PORT, which a shell may have set', async () => {
  const running = await world.serve([], {
    HOST: 'host.invalid',
    AXPORT_HOST: '127.0.0.1',
    AXPORT_PORT: '0',
    PORT: 'x',
  })
  expect(running.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  await running.end()
})
