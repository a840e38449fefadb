import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import type { Report } from '../bench/report.ts'
import { type Result, verdict } from '../bench/results.ts'
import { compared, inTurns } from '../bench/rounds.ts'
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

test('the contestants of a round take turns, and their ratio is that of their rounds', async () => {
  const order: string[] = []
  let now = 0
  const contestant = (name: string, factor: number) => async () => {
    order.push(name)
    now++
    return now * factor
  }
  const figures = await inTurns(3, { a: contestant('a', 1), b: contestant('b', 10) })
  expect(order).toEqual(['a', 'b', 'b', 'a', 'a', 'b'])
  expect(figures).toEqual({ a: [1, 4, 5], b: [20, 30, 60] })
  // 1 to 20, 4 to 30, 5 to 60; and not 4 to 30 because both are in the middle.
  expect(compared(figures.a, figures.b)).toMatchObject({ figure: 4, limit: 30, ratio: 5 / 60 })
})

test('a result reaches what its reach says, of its value or of its ratio', () => {
  const result: Result = { measure: '', unit: '', figure: 200, limit: 400, ratio: 0.5 }
  expect(verdict(result)).toBe('')
  expect(verdict({ ...result, reach: { of: 'value', atMost: 200 } })).toBe('yes')
  expect(verdict({ ...result, reach: { of: 'value', atMost: 199 } })).toBe('no')
  expect(verdict({ ...result, reach: { of: 'ratio', atLeast: 0.5 } })).toBe('yes')
  expect(verdict({ ...result, reach: { of: 'ratio', atLeast: 0.51 } })).toBe('no')
  expect(verdict({ measure: '', unit: '', reach: { of: 'value', atMost: 1 } })).toBe('not measured')
})
