import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { countTests, skippedBecause } from '../../scripts/junit.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'axport-requires-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs a test file with requirements that no machine has; returns its report and its output. */
async function runTests(environment: Record<string, string>) {
  const helper = JSON.stringify(join(import.meta.dir, '..', 'support', 'requires.ts'))
  const body = `
    import { program, requires } from ${helper}
    const absent = requires(program('no-such-shell', 'no-such-package'))
    const forbidden = requires({ name: 'the right to fly', isHere: false })
    const here = requires({ name: 'this Bun', isHere: true })
    absent.test('speaks', () => {})
    absent.describe('the shell', () => { absent.test('listens', () => {}) })
    forbidden.test('flies', () => {})
    here.test('runs', () => {})
  `
  const file = join(folder, 'needs.test.ts')
  const report = join(folder, 'junit.xml')
  writeFileSync(file, body)
  const { TEST_REQUIRE_ALL: _, ...inherited } = process.env
  const options = ['--reporter=junit', `--reporter-outfile=${report}`]
  const run = Bun.spawn([process.execPath, 'test', ...options, file], {
    cwd: folder,
    env: { ...inherited, ...environment },
    stdout: 'ignore',
    stderr: 'pipe',
  })
  const printed = await new Response(run.stderr).text()
  const code = await run.exited
  return { xml: readFileSync(report, 'utf8'), printed, code }
}

describe('a test whose requirement is missing', () => {
  test('is skipped, and the report counts the reasons', async () => {
    const { xml, code } = await runTests({})
    expect(code).toBe(0)
    expect(countTests(xml, [], true)).toEqual({ passed: 1, failed: 0, skipped: 3 })
    expect(Object.fromEntries(skippedBecause(xml))).toEqual({
      'needs no-such-shell, Debian package no-such-package': 2,
      'needs the right to fly': 1,
    })
  })

  test('fails with the name of the package under TEST_REQUIRE_ALL=1, unless no package brings it', async () => {
    const { xml, printed, code } = await runTests({ TEST_REQUIRE_ALL: '1' })
    expect(code).not.toBe(0)
    expect(countTests(xml, [], false)).toEqual({ passed: 1, failed: 2, skipped: 1 })
    expect(printed).toContain(
      'not on this machine: no-such-shell. Install with: apt-get install no-such-package',
    )
    expect(Object.fromEntries(skippedBecause(xml))).toEqual({ 'needs the right to fly': 1 })
  })
})
