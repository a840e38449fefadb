// Imports are killed with -9 at random moments.
import { afterAll, setDefaultTimeout, test } from 'bun:test'
import { cleanUp } from '../../support/executable.ts'
import { embeddedTarget, postgresTarget } from './support/import-targets.ts'
import { killImports } from './support/killed-import.ts'

setDefaultTimeout(10 * 60_000)
afterAll(cleanUp)

test.each([
  ['Postgres', postgresTarget, 4000, 4],
  ['the embedded database', embeddedTarget, 600, 2],
] as const)(
  'an import into %s that is killed leaves the former or the new data, whole',
  async (_, open, assessments, rounds) => {
    const target = await open()
    await killImports(target, assessments, rounds)
    await target.close()
  },
)
