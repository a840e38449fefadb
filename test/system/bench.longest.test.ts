import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import type { Report } from '../bench/report.ts'
import { cleanUp, emptyFolder, executable, launch } from '../support/executable.ts'

/** Tests that the benchmark runs and has a result for every measure. The figures of so few records mean nothing. */

setDefaultTimeout(600_000)
afterAll(cleanUp)

async function bench(args: string[]) {
  const command = [process.execPath, join(import.meta.dir, '..', 'bench', 'run.ts'), ...args]
  const env = { ...(process.env as Record<string, string>), AXPORT_EXECUTABLE: await executable() }
  return await launch(command, { env }).finished
}

test('the benchmark measures two executables in turns, each with a database of its own, and exits with 0', async () => {
  const out = join(emptyFolder(), 'results.json')
  const quick = ['--records', '1000', '--seconds', '0.1', '--rounds', '1', '--before', await executable()]
  const { code, stdout, stderr } = await bench([...quick, '--out', out])
  expect({ code, stderr }).toMatchObject({ code: 0 })
  const { records, results } = (await Bun.file(out).json()) as Report
  expect(records).toBe(1000)
  expect(results.length).toBeGreaterThanOrEqual(50)
  for (const { measure, present, before, ratio, rounds } of results) {
    expect(stdout).toContain(`| ${measure} `)
    expect({ measure, rounds }).toEqual({ measure, rounds: [[present, before]] as number[][] })
    // In a tenth of a second, few requests take no hundredth of processor time, and a storm may not begin.
    if (/^processor time|connections/.test(measure)) continue
    expect({ measure, ok: present > 0 && (ratio ?? 0) > 0 }).toEqual({ measure, ok: true })
  }
})

test('the benchmark refuses an unknown measure, and names the existing ones', async () => {
  const { code, stdout, stderr } = await bench(['--only', 'everything'])
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain('rates')
})
