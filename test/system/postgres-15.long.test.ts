import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { countTests } from '../../scripts/junit.ts'
import { type OwnCluster, startCluster } from '../support/own-cluster.ts'
import { debianBinaries } from '../support/postgres-binaries.ts'
import { requires } from '../support/requires.ts'
import { POSTGRES_15 } from './support/debian-postgres.ts'

setDefaultTimeout(600_000)

const ROOT = join(import.meta.dir, '..', '..')

/** Where the tests lie whose SQL depends on the server most: what is asked, remembered, loaded, kept and migrated. */
const PATTERNS = [
  'test/contract/*.test.ts',
  'test/assessments/**/*.test.ts',
  'test/import/{import,model,rows,sync,any-line,at-once}.test.ts',
  'test/db/{schema,read-model}.test.ts',
  'test/postgres/{migrations,grant}.test.ts',
]

/** Those of the fast tier; the plans that the longer ones hold are of the newer Postgres. */
const files = PATTERNS.flatMap(pattern => [...new Bun.Glob(pattern).scanSync(ROOT)]).filter(
  file => !file.endsWith('.long.test.ts'),
)

requires(POSTGRES_15).describe('on Postgres 15', () => {
  let cluster: OwnCluster
  let folder: string
  beforeAll(async () => {
    cluster = await startCluster({ binaries: debianBinaries(15) })
    folder = mkdtempSync(join(tmpdir(), 'axport-postgres-15-'))
  })
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true })
    await cluster?.stop()
  })

  test('the tests of the contract, of paging, of imports and of the schema hold', async () => {
    const sql = postgres(cluster.url(), { max: 1 })
    const [row] = await sql<{ version: string }[]>`select current_setting('server_version_num') as version`
    await sql.end()
    expect(row?.version).toStartWith('15')

    const report = join(folder, 'junit.xml')
    const options = [
      '--timeout=120000',
      '--only-failures',
      '--reporter=junit',
      `--reporter-outfile=${report}`,
    ]
    // What the embedded database does is no matter of this server.
    const names = '--test-name-pattern=^(?!.*embedded)'
    const run = Bun.spawn([process.execPath, 'test', ...options, names, ...files.map(file => `./${file}`)], {
      cwd: ROOT,
      env: { ...process.env, CHECK: 'fast', TEST_DATABASE_URL: cluster.url() },
      stdin: 'ignore',
      stdout: 'inherit',
      stderr: 'inherit',
    })
    const code = await run.exited
    const { passed, failed } = countTests(readFileSync(report, 'utf8'), files, code === 0)
    expect({ code, failed }).toEqual({ code: 0, failed: 0 })
    expect(passed).toBeGreaterThan(1000)
  })
})
