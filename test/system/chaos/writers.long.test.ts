// The database is taken away while the data are written.
import { beforeAll, expect, test } from 'bun:test'
import { staleRecords } from '../../support/import.ts'
import { randomBelow } from '../../support/tier.ts'
import { until } from '../../support/until.ts'
import { movingTruth } from './support/moving-truth.ts'
import { trial } from './support/trial.ts'
import { useWorld } from './support/world.ts'
import { lateRecords, startWriters } from './support/writers.ts'

const world = useWorld({ assessments: 1000 })
beforeAll(() => {
  world.truth = movingTruth(world, lateRecords(world))
})

test('under writers and outages, no record that stays is lost, doubled or half new', async () => {
  const writers = await startWriters(world)
  const untilWritten = async () => {
    const before = { ...writers.written }
    const kinds = ['renamings', 'imports', 'rotations'] as const
    const isWritten = () => kinds.every(kind => writers.written[kind] >= before[kind] + 3)
    await until('three more of each kind are written', isWritten, 60_000)
  }
  await trial(world, { logLines: { least: 4, most: 30 } }, async ({ proxy, untilDown, recovers }) => {
    await untilWritten()
    await world.victim.kill()
    await untilDown()
    await world.victim.start()
    await recovers()
    await untilWritten()
    await world.victim.cutConnections()
    await untilWritten()
    proxy.become({ is: 'cutting', after: () => randomBelow(200_000) })
    await untilWritten()
    proxy.become({ is: 'fair' })
    await world.victim.shutDown()
    await untilDown()
    await world.victim.start()
    await recovers()
    await untilWritten()
  }).finally(writers.stop)
  expect(await world.victim.ask(staleRecords)).toEqual([])
})
