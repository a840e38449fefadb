import type { Sample } from './samples.ts'

/** The allowed growth of a measure from the first third to the last: a share, and an absolute amount for chance. */
const LIMITS = {
  memory: { share: 1.1, plus: 10 },
  handles: { share: 1, plus: 5 },
  connections: { share: 1, plus: 1 },
  median: { share: 1.5, plus: 2 },
  p95: { share: 1.5, plus: 5 },
} satisfies Partial<Record<keyof Sample, { share: number; plus: number }>>

/** The means of one measure over the first third and over the last, and whether the measure is flat. */
export interface Trend {
  measure: string
  first: number
  last: number
  isFlat: boolean
}

/** Compares the first third of the samples with the last. At least three are needed. */
export function trends(samples: Sample[]): Trend[] {
  const third = Math.floor(samples.length / 3)
  return Object.entries(LIMITS).map(([measure, { share, plus }]) => {
    const mean = (some: Sample[]) =>
      some.reduce((sum, sample) => sum + sample[measure as keyof Sample], 0) / some.length
    const first = mean(samples.slice(0, third))
    const last = mean(samples.slice(-third))
    return { measure, first, last, isFlat: last <= first * share + plus }
  })
}
