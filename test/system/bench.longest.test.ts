import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import type { Report } from '../../bench/report.ts'
import { cleanUp, emptyFolder, executable, launch, TEST_TIMEOUT_MS } from '../support/executable.ts'

/** Tests that the benchmark runs and has a result for every measure. The figures of so few records mean nothing. */

setDefaultTimeout(TEST_TIMEOUT_MS)
afterAll(cleanUp)

async function bench(args: string[]) {
  const command = [process.execPath, join(import.meta.dir, '..', '..', 'bench', 'run.ts'), ...args]
  const env = { ...(process.env as Record<string, string>), AXPORT_EXECUTABLE: await executable() }
  return await launch(command, { env }).finished
}

test('the benchmark runs every measure that it can, gives a reason for each other one, and exits with 0', async () => {
  const out = join(emptyFolder(), 'results.json')
  const quick = ['--records', '1000', '--seconds', '0.1', '--rounds', '1']
  const { code, stdout, stderr } = await bench([...quick, '--out', out])
  expect({ code, stderr }).toMatchObject({ code: 0 })
  const { records, results } = (await Bun.file(out).json()) as Report
  expect(records).toBe(1000)
  expect(results.length).toBeGreaterThanOrEqual(35)
  for (const { measure, figure, limit, ratio, note } of results) {
    expect(stdout).toContain(`| ${measure} `)
    if (figure === undefined)
      expect({ measure, note }).toMatchObject({ note: expect.stringMatching(/^not /) })
    // Linux counts processor time in hundredths of a second, and a primary with standbys may use less than that.
    else if (!measure.startsWith('processor time'))
      expect({ measure, ok: figure > 0 }).toEqual({ measure, ok: true })
    if (limit !== undefined) expect({ measure, ok: (ratio ?? 0) > 0 }).toEqual({ measure, ok: true })
  }
})

test('the benchmark refuses an unknown measure, and names the existing ones', async () => {
  const { code, stdout, stderr } = await bench(['--only', 'everything'])
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain('first-page')
})
