// Several processes on one port.
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { until } from '../../support/until.ts'
import { trial } from './support/trial.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

/** The processes that a process has started (Linux only). */
function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
}

test('two workers are both back within 2 s after the database was killed', async () => {
  await trial(
    world,
    { workers: 2, logLines: { least: 2, most: 8 } },
    async ({ untilDown, untilServed, recovers }) => {
      for (let round = 0; round < 2; round++) {
        await world.victim.kill()
        await untilDown()
        await Bun.sleep(1000)
        await world.victim.start()
        await recovers()
        await untilServed(100)
      }
    },
  )
})

test.skipIf(process.platform !== 'linux')(
  'a worker that is killed with -9 is replaced, and the others serve',
  async () => {
    const options = { workers: 2, brokenConnections: true, logLines: { least: 1, most: 8 } }
    await trial(world, options, async ({ service, untilServed, recovers }) => {
      for (let round = 0; round < 3; round++) {
        const before = childrenOf(service.pid)
        expect(before).toHaveLength(2)
        process.kill(before[0] as number, 'SIGKILL')
        await recovers()
        await untilServed(50)
        const isReplaced = () => childrenOf(service.pid).some(pid => !before.includes(pid))
        await until('the worker is replaced', isReplaced)
      }
    })
  },
)
