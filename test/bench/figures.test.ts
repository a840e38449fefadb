import { expect, test } from 'bun:test'
import { type Result, verdict } from './results.ts'
import { compared, inTurns } from './rounds.ts'

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
