import { expect, setDefaultTimeout, test } from 'bun:test'
import { get, LIST, newToken } from '../support/http.ts'
import { succeed } from '../support/operator.ts'
import { type Served, useServedWorld, whileBlocked } from '../support/served.ts'

setDefaultTimeout(120_000)

/** An integration holds two connections less than the pool has. So two of them use all. */
const SIZE = 4
const world = useServedWorld({
  DATABASE_POOL_SIZE: String(SIZE),
  STATEMENT_TIMEOUT: '3',
})

/** Milliseconds of the suspension, longer than all of these limits. */
const SUSPENDED_MS = 9000

/**
 * The statuses of requests whose rows arrived at the socket while the process was suspended.
 * @param isProbing whether the service was probing the unresponsive connections when it was suspended
 */
async function statusesAfter(service: Served, isProbing: boolean): Promise<number[]> {
  const scope = ['--organizations', 'all', '--products', 'all']
  const another = await succeed(
    world.env.DATABASE_URL as string,
    'integration',
    'create',
    'Another',
    ...scope,
    '--json',
  )
  const tokens = [world.token, await newToken(service.url, JSON.parse(another))]
  const ask = () => Array.from({ length: SIZE }, (_, at) => get(service.url, tokens[at % 2] as string, LIST))
  let answers = ask()
  await Promise.all(answers)
  // Every connection must have prepared the statement, because preparing takes a further round trip. While the requests
  // wait, each has a connection of its own.
  await whileBlocked(world.sql, async waiting => {
    answers = ask()
    await waiting(SIZE)
  })
  await Promise.all(answers)
  const lock = await world.sql.reserve()
  await lock`begin`
  await whileBlocked(world.sql, async waiting => {
    // With pg_authid locked no client can log in, so the probe of the connections waits, too.
    if (isProbing) await lock`lock table pg_authid in access exclusive mode`
    answers = ask()
    await waiting(isProbing ? SIZE + 1 : SIZE)
    process.kill(service.pid, 'SIGSTOP')
  })
  await lock`rollback`
  lock.release()
  await Bun.sleep(SUSPENDED_MS)
  process.kill(service.pid, 'SIGCONT')
  return (await Promise.all(answers)).map(({ status }) => status)
}

test.each([
  ['the process is suspended', false],
  ['the process is suspended during a probe of unresponsive connections', true],
])('rows that Postgres sends while %s become answers after the process resumes', async (_, isProbing) => {
  const service = await world.serve()
  expect(await statusesAfter(service, isProbing)).toEqual(Array(SIZE).fill(200))
  await service.end()
})
