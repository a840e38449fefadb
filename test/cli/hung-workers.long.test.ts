import { expect, setDefaultTimeout, test } from 'bun:test'
import { TEST_TIMEOUT_MS } from '../support/executable.ts'
import { useServedWorld } from '../support/served.ts'
import { until } from '../support/until.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

/** On a busy machine a statement may take a second, and the test reads every warning. */
const world = useServedWorld({ ADMIN_PORT: '0' })

test('a worker that hangs is replaced, the others keep running, and the service becomes ready again', async () => {
  const running = await world.serve(['--workers', '2'])
  const listening = () => running.log().filter(({ msg }) => msg === 'worker listening')
  const hung = listening().find(({ worker }) => worker === 2)?.pid as number
  process.kill(hung, 'SIGSTOP')
  const isReady = async () => (await fetch(`${running.admin}/ready`)).status === 200
  expect(await isReady()).toBe(false)
  await until('another worker 2 listens', () => listening().length === 3, 60_000)
  await until('the service is ready', isReady)
  expect((await world.list(running)).status).toBe(200)
  const lines = running.log().filter(({ level }) => Number(level) >= 40)
  expect(lines).toEqual([
    expect.objectContaining({ pid: hung, msg: 'worker does not answer; ending it' }),
    expect.objectContaining({ pid: hung, how: 'SIGKILL', msg: 'worker ended; replacing it' }),
  ])
  expect(listening().map(({ worker }) => worker)).toEqual([expect.any(Number), expect.any(Number), 2])
  await running.end()
})
