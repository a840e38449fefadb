import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import type { Report } from '../bench/report.ts'
import { cleanUp, emptyFolder, executable, launch, PATIENCE } from '../support/executable.ts'

/** That the benchmark runs and says something about everything; what it measures on so few is of no interest. */

setDefaultTimeout(PATIENCE)
afterAll(cleanUp)

async function bench(args: string[]) {
  const command = [process.execPath, join(import.meta.dir, '..', 'bench', 'run.ts'), ...args]
  const env = { ...(process.env as Record<string, string>), AXPORT_EXECUTABLE: await executable() }
  return await launch(command, { env }).finished
}

test('the benchmark measures everything that it can, says why of the rest, and ends well', async () => {
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
    // Counted in hundredths of a second: beside standbys a primary has less to do.
    else if (!measure.startsWith('processor time'))
      expect({ measure, ok: figure > 0 }).toEqual({ measure, ok: true })
    if (limit !== undefined) expect({ measure, ok: (ratio ?? 0) > 0 }).toEqual({ measure, ok: true })
  }
})

test('a measure that does not exist is refused, and the others are named', async () => {
  const { code, stdout, stderr } = await bench(['--only', 'everything'])
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain('first-page')
})
