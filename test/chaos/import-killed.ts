// Imports are killed with -9 at random moments: bun run test:chaos
import { afterAll, setDefaultTimeout, test } from 'bun:test'
import { cleanUp } from '../support/executable.ts'
import { embeddedTarget, postgresTarget } from './support/import-targets.ts'
import { killImports } from './support/killed-import.ts'

setDefaultTimeout(30 * 60_000)

afterAll(cleanUp)

test('an import into Postgres that is killed leaves the former or the new data, whole', async () => {
  const target = await postgresTarget()
  await killImports(target, { assessments: 12_000, rounds: 12, fromNothing: false })
  await target.close()
})

test('a load into empty tables that is killed leaves them empty, or loaded', async () => {
  const target = await postgresTarget()
  await killImports(target, { assessments: 24_000, rounds: 10, fromNothing: true })
  await target.close()
})

test('an import into the embedded database that is killed leaves the former or the new data, whole', async () => {
  const target = await embeddedTarget()
  await killImports(target, { assessments: 3_000, rounds: 10, fromNothing: true })
  await target.close()
})
