// The address of the database starts to lead to another cluster, which has an older state of the data.
import { beforeAll, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { trial } from './support/trial.ts'
import { truthOf } from './support/truth.ts'
import { copyIntegrations, useWorld } from './support/world.ts'

const password = randomBytes(16).toString('hex')
const world = useWorld({ password })
const older = useWorld({ password, assessments: 350 })

beforeAll(async () => {
  await copyIntegrations(world, older)
  older.truth = truthOf(older.platform, world.scope)
})

test.each(['runs on', 'was killed'])(
  'after a failover from a database that %s to an older state of the data, all answers have that older state',
  async how => {
    const options = { lostTokens: true, logLines: { least: 0, most: 10 } }
    await trial(world, options, async ({ proxy, load, untilDown, untilServed, recovers }) => {
      const failOver = async (to: typeof world) => {
        const settled = load.change(to.truth)
        proxy.redirect(to.postgres.port)
        settled()
        await recovers()
      }
      if (how === 'was killed') {
        await world.postgres.kill()
        await untilDown()
      }
      await failOver(older)
      await untilServed(100)
      if (how === 'was killed') await world.postgres.start()
      await failOver(world)
    })
  },
)
