// The short version of the chaos suite, for every check; all of it: bun run test:chaos
import { afterAll, beforeAll, setDefaultTimeout, test } from 'bun:test'
import { cleanUp, PATIENCE } from '../support/executable.ts'
import { trial } from './support/trial.ts'
import { makeWorld, type World } from './support/world.ts'

setDefaultTimeout(PATIENCE)

let world: World

beforeAll(async () => {
  world = await makeWorld({ assessments: 1500 })
})
afterAll(async () => {
  await cleanUp()
  await world?.victim.stop()
})

test('a database that is killed, silent, or cuts its connections costs refusals, and is back within 2 s', async () => {
  await trial(
    world,
    { logLines: { least: 4, most: 14 } },
    async ({ proxy, untilDown, untilServed, recovers }) => {
      await world.victim.kill()
      await untilDown()
      await world.victim.start()
      await recovers()

      proxy.become({ is: 'cutting', after: () => Math.floor(Math.random() * 200_000) })
      await untilServed(50)
      await world.victim.cutConnections()
      proxy.become({ is: 'fair' })
      await recovers()

      proxy.become({ is: 'silent' })
      await untilDown()
      proxy.become({ is: 'fair' })
      await recovers()
    },
  )
})
