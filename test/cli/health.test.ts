import { expect, setDefaultTimeout, test } from 'bun:test'
import { axport, errorLine, start, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { freePort } from '../support/free-port.ts'
import { useServedWorld } from '../support/served.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

const world = useServedWorld({ ADMIN_PORT: '0' })

const health = (env: Record<string, string>, ...args: string[]) => axport(['health', ...args], { env })

test('axport health exits with 0 while the service is ready', async () => {
  const running = await world.serve()
  const { port } = new URL(running.admin)
  for (const ADMIN_HOST of ['', '127.0.0.1', '0.0.0.0', '*'])
    expect(await health({ ADMIN_HOST, ADMIN_PORT: port, PGPASSWORD: 'of another program' })).toEqual({
      code: 0,
      stdout: 'ready\n',
      stderr: '',
    })
  const { stdout } = await health({ ADMIN_PORT: port }, '--json')
  expect(JSON.parse(stdout)).toMatchObject({ ready: true, checks: expect.any(Array) })
  await running.end()
})

test('axport health exits with 1 and names what is wrong', async () => {
  const running = await world.serve()
  const { port } = new URL(running.admin)
  const [last] = await world.sql`
    delete from schema_migrations where name = (select max(name) from schema_migrations) returning *`
  const behind = await health({ ADMIN_PORT: port })
  const asJson = await health({ ADMIN_PORT: port }, '--json')
  await world.sql`insert into schema_migrations ${world.sql(last as Record<string, unknown>)}`
  expect(errorLine(behind, 1)).toBe(`not ready: schema: behind by 1 (${last?.name}): run axport migrate`)
  expect([asJson.code, JSON.parse(asJson.stdout).ready]).toEqual([1, false])
  await running.end()
  expect(errorLine(await health({ ADMIN_PORT: port }), 1)).toBe(
    `not ready: nothing listens at http://127.0.0.1:${port}/ready`,
  )
  expect(errorLine(await health({}), 1)).toStartWith('ADMIN_PORT is not set')
})

test('axport health uses no proxy of the environment', async () => {
  const running = await world.serve()
  const { port } = new URL(running.admin)
  const dead = `http://127.0.0.1:${await freePort()}`
  const variables = { HTTP_PROXY: dead, http_proxy: dead, ALL_PROXY: dead }
  expect((await health({ ADMIN_PORT: port, ...variables })).stdout).toBe('ready\n')
  await running.end()
})

test('axport health does not take another server for the service', async () => {
  using other = Bun.serve({ port: 0, fetch: () => Response.json({ ready: true }) })
  expect(errorLine(await health({ ADMIN_PORT: String(other.port) }), 1)).toEndWith(
    'does not answer as axport does',
  )
})

test('axport health --wait waits no longer for a service that does not answer', async () => {
  const answer = async () => {
    await Bun.sleep(10_000)
    return Response.json({ ready: true, checks: [] })
  }
  using slow = Bun.serve({ port: 0, idleTimeout: 30, fetch: answer })
  const env = { ADMIN_PORT: String(slow.port) }
  expect(errorLine(await health(env, '--wait', '1s'), 1)).toEndWith('does not answer')
})

test('axport health --wait waits until a service that starts is ready, and gives up when its time or the process is over', async () => {
  const port = String(await freePort())
  expect(errorLine(await health({ ADMIN_PORT: port }, '--wait', '1s'), 1)).toContain('nothing listens')
  const gone = Bun.spawnSync(['true']).pid
  const ended = await health({ ADMIN_PORT: port }, '--wait', '1h', '--process', String(gone))
  expect(errorLine(ended, 1)).toContain('nothing listens')
  const waiting = start(['health', '--wait', '60s'], { env: { ADMIN_PORT: port } })
  const running = await world.serve([], { ADMIN_PORT: port })
  expect(await (await waiting).finished).toEqual({ code: 0, stdout: 'ready\n', stderr: '' })
  await running.end()
})
