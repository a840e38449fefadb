import { expect, setDefaultTimeout, test } from 'bun:test'
import { type Served, useServedWorld, whileBlocked } from '../support/served.ts'

setDefaultTimeout(120_000)

const SIZE = 4
const world = useServedWorld({
  DATABASE_POOL_SIZE: String(SIZE),
  DATABASE_WAIT: '2',
  STATEMENT_TIMEOUT: '3',
})

/** Milliseconds beyond all of these bounds. */
const STOPPED = 6000

/**
 * The statuses of requests whose answers have come while the process was stopped for long.
 * @param isLooked whether it was looking into their silence when it was stopped
 */
async function statusesAfter(service: Served, isLooked: boolean): Promise<number[]> {
  const ask = () => Array.from({ length: SIZE }, () => world.list(service))
  // Each connection has prepared the statement: to prepare it would take a question and an answer more.
  for (let time = 0; time < 3; time++) await Promise.all(ask())
  let answers: ReturnType<typeof ask> = []
  const lock = await world.sql.reserve()
  await lock`begin`
  await whileBlocked(world.sql, async waiting => {
    // Nobody can log in, so that whoever looks into the silence has to wait as well.
    if (isLooked) await lock`lock table pg_authid in access exclusive mode`
    answers = ask()
    await waiting(isLooked ? SIZE + 1 : SIZE)
    process.kill(service.pid, 'SIGSTOP')
  })
  await lock`rollback`
  lock.release()
  await Bun.sleep(STOPPED)
  process.kill(service.pid, 'SIGCONT')
  return (await Promise.all(answers)).map(({ status }) => status)
}

test.each([
  ['was stopped', false],
  ['was stopped while it looked into their silence', true],
])('answers that came while the process %s are sent when it goes on', async (_, isLooked) => {
  const service = await world.serve()
  expect(await statusesAfter(service, isLooked)).toEqual(Array(SIZE).fill(200))
  await service.end()
})
