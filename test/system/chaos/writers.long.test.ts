// The database has outages while the data are written.
import { beforeAll, expect, test } from 'bun:test'
import { staleRecords } from '../../support/import.ts'
import { randomBelow } from '../../support/tier.ts'
import { until } from '../../support/until.ts'
import { changingTruth } from './support/changing-truth.ts'
import { trial } from './support/trial.ts'
import { useWorld } from './support/world.ts'
import { lateRecords, startWriters } from './support/writers.ts'

const world = useWorld({ assessments: 500 })
beforeAll(() => {
  world.truth = changingTruth(world, lateRecords(world))
})

test('during writes and outages, no answer loses or repeats a record, or mixes the names of two renamings', async () => {
  const writers = await startWriters(world)
  const untilWritten = async () => {
    const before = { ...writers.written }
    const kinds = ['renamings', 'imports', 'rotations'] as const
    const isWritten = () => kinds.every(kind => writers.written[kind] >= before[kind] + 2)
    await until('each writer has written twice more', isWritten, 60_000)
  }
  await trial(
    world,
    { logLines: { least: 4, most: 30 } },
    async ({ proxy, untilDown, untilServed, recovers }) => {
      await untilWritten()
      await world.postgres.kill()
      await untilDown()
      await world.postgres.start()
      await recovers()
      await untilWritten()
      await world.postgres.cutConnections()
      await untilServed(50)
      proxy.setNetwork({ is: 'cutting', after: () => randomBelow(200_000) })
      await untilWritten()
      proxy.setNetwork({ is: 'normal' })
      await world.postgres.shutDown()
      await untilDown()
      await world.postgres.start()
      await recovers()
      await untilWritten()
    },
  ).finally(writers.stop)
  expect(await world.postgres.asSuperuser(staleRecords)).toEqual([])
})
