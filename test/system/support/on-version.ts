import { expect } from 'bun:test'
import { join } from 'node:path'
import { countTests } from '../../../scripts/junit.ts'
import { emptyFolder } from '../../support/executable.ts'
import { on } from './operations.ts'

/** The tests whose SQL depends most on the server's version. */
const FILES = [
  'contract/any-list',
  'contract/list-search',
  'assessments/paging/page-statement.long',
  'import/import',
  'import/check-plans.long',
  'db/read-model',
  'db/schema',
  'database/grant',
]

/** Before a release, these run as well. */
export const MORE_FILES = ['assessments/paging/race', 'database/settings.long', 'import/plans.long']

/**
 * Runs the tests of the contract, of paging, of imports and of the schema on a server of this major version, and those
 * of `more` files.
 */
export async function expectTestsToPass(url: string, major: number, more: string[] = []): Promise<void> {
  const files = [...FILES, ...more].map(name => `test/${name}.test.ts`)
  const [row] = await on(url, sql => sql`show server_version`)
  expect(row?.server_version).toStartWith(`${major}`)

  const report = join(emptyFolder(), 'junit.xml')
  const options = [
    ...['--no-isolate', '--timeout=120000'],
    '--only-failures',
    '--reporter=junit',
    `--reporter-outfile=${report}`,
  ]
  const run = Bun.spawn([process.execPath, 'test', ...options, ...files.map(file => `./${file}`)], {
    cwd: join(import.meta.dir, '..', '..', '..'),
    // An empty TEST_SEED is the constant seed of the fast tier. Random seeds need the larger bounds of CHECK=all.
    env: { ...process.env, CHECK: 'fast', TEST_SEED: '', TEST_DATABASE_URL: url },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const code = await run.exited
  const { passed, failed } = countTests(await Bun.file(report).text(), files, code === 0)
  expect({ code, failed }).toEqual({ code: 0, failed: 0 })
  expect(passed).toBeGreaterThan(200)
}
