import { afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { MIGRATIONS, schemaNumber } from '../../src/database/migrations.ts'
import { axport, errorLine, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { useServedWorld } from '../support/served.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

const world = useServedWorld()
const OWN = schemaNumber(MIGRATIONS)

/** Migrates as a newer program would. */
const upgrade = (compatibleWith: number) =>
  world.sql`insert into schema_migrations (name, sha256, compatible_with) values ('9999_future', 'x', ${compatibleWith})`
afterEach(async () => {
  await world.sql`delete from schema_migrations where name = '9999_future'`
})

const run = (...args: string[]) => axport(args, { env: world.env })

describe('after a newer axport has migrated, this program', () => {
  test('goes on serving, starts and provisions if the migration is compatible', async () => {
    const before = await world.serve()
    await upgrade(OWN)
    const after = await world.serve()
    for (const running of [before, after]) {
      expect((await world.list(running)).status).toBe(200)
      await running.end()
    }
    for (const command of ['disable', 'enable', 'show'])
      expect(await run('integration', command, world.credentials.clientId)).toMatchObject({ code: 0 })
    expect((await run('doctor')).stdout).toMatch(/schema +warning +ahead by 1 \(9999_future\)/)
  })

  test('neither migrates nor imports, even if the migration is compatible', async () => {
    await upgrade(OWN)
    for (const args of [['migrate'], ['import', '-']])
      expect(errorLine(await run(...args), 1)).toMatch(/9999_future.*run a newer axport/)
  })

  test('refuses serve, integration list, migrate and import if the migration is not compatible', async () => {
    await upgrade(OWN + 1)
    for (const args of [['serve'], ['integration', 'list'], ['migrate'], ['import', '-']])
      expect(errorLine(await run(...args), 1)).toMatch(/9999_future.*run a newer axport/)
  })
})
