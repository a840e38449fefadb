import { expect, test } from 'bun:test'
import { type Result, verdict } from '../../bench/results.ts'
import { besideBefore, compared, inTurns } from '../../bench/rounds.ts'

test('inTurns() reverses the order in every second round, and compared() uses the ratios within rounds', async () => {
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
  // The ratios are 1/20, 4/30 and 5/60, of which 5/60 is the median. The ratio of the medians would be 4/30.
  expect(compared(figures.a, figures.b)).toMatchObject({ figure: 4, limit: 30, ratio: 5 / 60 })
})

test('verdict() compares the value or the ratio of a result with its limits', () => {
  const result: Result = { measure: '', unit: '', figure: 200, limit: 400, ratio: 0.5 }
  expect(verdict(result)).toBe('')
  expect(verdict({ ...result, reach: { of: 'value', atMost: 200 } })).toBe('yes')
  expect(verdict({ ...result, reach: { of: 'value', atMost: 199 } })).toBe('no')
  expect(verdict({ ...result, reach: { of: 'ratio', atLeast: 0.5 } })).toBe('yes')
  expect(verdict({ ...result, reach: { of: 'ratio', atLeast: 0.51 } })).toBe('no')
  expect(verdict({ measure: '', unit: '', reach: { of: 'value', atMost: 1 } })).toBe('not measured')
})

test('inTurns() leaves out a contestant that cannot be measured', async () => {
  const figures = await inTurns(2, { a: async () => 1, b: undefined })
  expect(figures.a).toEqual([1, 1])
  expect(figures.b).toBeUndefined()
})

test('besideBefore() has the ratio to the earlier executable, and without one a figure that reaches nothing', () => {
  const reach = { of: 'ratio', atMost: 0.6 } as const
  const both = besideBefore('export', 's', [1, 2, 3], [2, 4, 6], reach)
  expect(both).toMatchObject({ figure: 2, limit: 4, ratio: 0.5, reach })
  expect(verdict(both)).toBe('yes')
  const alone = besideBefore('export', 's', [1, 2, 3], undefined, reach)
  expect(alone).toMatchObject({ figure: 2, note: expect.stringMatching(/^not compared/) })
  expect(verdict(alone)).toBe('not measured')
})
