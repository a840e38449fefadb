import { expect, test } from 'bun:test'
import type { Sample } from './samples.ts'
import { trends } from './verdict.ts'

const sample = (minute: number, more: Partial<Sample> = {}): Sample => ({
  minute,
  memory: 100,
  handles: 30,
  connections: 4,
  requests: 1000,
  median: 2,
  p95: 5,
  p99: 9,
  ...more,
})
const wrong = (samples: Sample[]) =>
  trends(samples)
    .filter(trend => !trend.isFlat)
    .map(({ measure }) => measure)

test('trends() calls constant measures flat', () => {
  expect(wrong([1, 2, 3, 4, 5, 6].map(minute => sample(minute, { memory: 100 + (minute % 3) })))).toEqual([])
})

test('trends() does not call a steadily growing measure flat', () => {
  const grow = (measure: keyof Sample, step: number) =>
    wrong([1, 2, 3, 4, 5, 6].map(minute => sample(minute, { [measure]: 50 + step * minute })))
  expect(grow('memory', 10)).toEqual(['memory'])
  expect(grow('handles', 2)).toEqual(['handles'])
  expect(grow('connections', 1)).toEqual(['connections'])
  expect(grow('median', 10)).toEqual(['median'])
  expect(grow('p95', 10)).toEqual(['p95'])
})
