import { expect, test } from 'bun:test'
import { type Figures, inTurns, resultsOf } from '../bench/turns.ts'

test('inTurns() reverses the order in every second round, and resultsOf() uses the ratios within rounds', async () => {
  const order: string[] = []
  let now = 0
  const side = (name: string, factor: number) => async (): Promise<Figures> => {
    order.push(name)
    now++
    return { pages: now * factor }
  }
  const figures = await inTurns(3, [side('present', 1), side('before', 10)])
  expect(order).toEqual(['present', 'before', 'before', 'present', 'present', 'before'])
  expect(figures.map(rounds => rounds.map(({ pages }) => pages))).toEqual([
    [1, 4, 5],
    [20, 30, 60],
  ])
  // The ratios are 1/20, 4/30 and 5/60, of which 5/60 is the median. The ratio of the medians would be 4/30.
  expect(resultsOf(figures)).toMatchObject([{ measure: 'pages', present: 4, before: 30, ratio: 5 / 60 }])
})

test('resultsOf() has the medians of one side alone, without a ratio', () => {
  expect(
    resultsOf([
      [
        { pages: 1, bytes: 7 },
        { pages: 4, bytes: 6 },
      ],
    ]),
  ).toEqual([
    { measure: 'pages', present: 2.5, rounds: [[1], [4]] },
    { measure: 'bytes', present: 6.5, rounds: [[7], [6]] },
  ])
})
