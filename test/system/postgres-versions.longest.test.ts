// The tests run on the newest supported Postgres, and postgres-15.long.test.ts runs the oldest: here are those between.
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { cleanUp } from '../support/executable.ts'
import { startCluster } from '../support/own-cluster.ts'
import { postgresBinaries } from '../support/postgres-binaries.ts'
import { installed } from './support/npm.ts'
import { expectTestsToPass } from './support/on-version.ts'

setDefaultTimeout(900_000)
afterAll(cleanUp)

test.each([16, 17])(
  'on Postgres %i, the tests of the contract, of paging, of imports and of the schema hold',
  async major => {
    const folder = await installed('postgres-versions')
    const binaries = await postgresBinaries(join(folder, 'node_modules', `postgres-${major}`))
    expect(binaries.major).toBe(major)
    const cluster = await startCluster({ binaries })
    try {
      await expectTestsToPass(cluster.url(), major)
    } finally {
      await cluster.stop()
    }
  },
)
